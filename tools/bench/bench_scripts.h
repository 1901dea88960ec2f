/* The scripts of redlock/wire.h, as the reference sends them, since others would give the nodes other
 * work. A test of the contract compares the nodes' commands. */
#ifndef BENCH_SCRIPTS_H
#define BENCH_SCRIPTS_H

static const char RAW_ACQUIRE_SCRIPT[] =
    "local c,t,m,p=redis.call,tonumber(ARGV[3]),'0',-2 "
    "for _,k in ipairs(KEYS) do "
    "local v=math.min(c('pttl',k),4294967295) if p~=-1 and (v==-1 or v>p) then p=v end "
    "local x=t>0 and c('get',k..'#ticket') if x and tonumber(x)>tonumber(m) then m=x end "
    "end "
    "if p~=-2 or t>0 and t<=tonumber(m) then return m..' '..p end "
    "local w=c('time') "
    "if t>w[1]*1e6+w[2]+ARGV[5]*1e3 then return {err='AHEAD of the clock of this node: '..w[1]} end "
    "for _,k in ipairs(KEYS) do "
    "if t>0 then c('set',k..'#ticket',ARGV[3],'px',ARGV[4]) end "
    "c('set',k,ARGV[1],'px',ARGV[2]) "
    "end "
    "return {ok='OK'}";

static const char RAW_RELEASE_SCRIPT[] =
    "local c,p,n,w,e=redis.pcall,ARGV[2],1,0 "
    "for i=1,#KEYS do "
    "local k=KEYS[i] "
    "local v,f=c('get',k),k..'#waiters#waiters' "
    "if p and p~='' then c('zrem',k..'#waiters',p) end "
    "if v==ARGV[1] then "
    "local d=c('del',k,p and f or k) "
    "if type(d)=='table' then d=c('del',k) if type(d)=='table' then e=d elseif p then d=2 end end "
    "if d==2 then "
    "local q=k..'#waiters' "
    "local m=c('zpopmin',q) "
    "while m[1] do "
    "local h=c('publish','redlock:'..m[1]:sub(1,16),m[1]:sub(18)) "
    "if h~=0 then "
    "if type(h)~='table' then w=1 "
    "elseif type(c('pexpire',q,60000))~='table' then c('zadd',q,m[2],m[1]) c('pexpire',q,60000) end "
    "c('set',f,'','px',60000) break "
    "end "
    "m=c('zpopmin',q) "
    "end "
    "end "
    "elseif type(v)=='table' then e=v elseif v then n=-1 elseif n>0 then n=0 end "
    "end "
    "return e or n>0 and n+w or n";

#endif
