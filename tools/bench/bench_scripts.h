/* Scripts as the nodes get them, without comments and blanks and with short local names: generated
 * by tools/scripts from the files named below. Change them there, and run "make scripts". */
#ifndef BENCH_SCRIPTS_H
#define BENCH_SCRIPTS_H

/* redlock/kinds/plain_acquire.lua, with ahead.lua */
#define WIRE_ACQUIRE_SCRIPT \
    "--!df flags=allow-undeclared-keys\n" \
    "local t,m,i,l,s=unpack(ARGV)" \
    "local c,k,a,e=redis.call,i+0,'0',-2 " \
    "for _,y in ipairs(KEYS)do " \
    "local p=math.min(c('pttl',y),4294967295)" \
    "if e~=-1 and(p==-1 or p>e)then e=p end " \
    "local o=k>0 and c('get',y..'#ticket')" \
    "if o and tonumber(o)>tonumber(a)then a=o end end " \
    "if e~=-2 or k>0 and k<=tonumber(a)then return a..' '..e end " \
    "local o=c('time')" \
    "if k>o[1]*1e6+o[2]+s*1e3 then " \
    "return{err='AHEAD of the clock of this node: '..o[1]}end " \
    "for _,y in ipairs(KEYS)do " \
    "if k>0 then c('set',y..'#ticket',i,'px',l)end " \
    "c('set',y,t,'px',m)end " \
    "return{ok='OK'}"
#define WIRE_ACQUIRE_SHA1 "544eb85079dd9aa8916e46179377d2ab2638cd96"

/* redlock/kinds/plain_release.lua, with wake_first.lua */
#define WIRE_RELEASE_SCRIPT \
    "--!df flags=allow-undeclared-keys\n" \
    "local t,e=unpack(ARGV)" \
    "local c,s,r,w,o=redis.pcall,'',1,0 " \
    "for _,k in ipairs(KEYS)do " \
    "local v,a=c('get',k),k..'#waiters'" \
    "local f=a..'#waiters'" \
    "if e and e~=''then c('zrem',a,e)end " \
    "if v==t then " \
    "local d=c('del',k,e and f or k)" \
    "if type(d)=='table'then " \
    "d=c('del',k)" \
    "if type(d)=='table'then o=d elseif e then d=2 end end " \
    "if d==2 then " \
    "local i=c('zpopmin',a)" \
    "while i[1]do " \
    "local h=c('publish','redlock:'..i[1]:sub(1,16),i[1]:sub(18)..s)" \
    "if h~=0 then " \
    "if type(h)~='table'then " \
    "w=1 " \
    "elseif type(c('pexpire',a,60000))~='table'then " \
    "c('zadd',a,i[2],i[1])" \
    "c('pexpire',a,60000)end " \
    "c('set',f,'','px',60000)break end " \
    "i=c('zpopmin',a)end end " \
    "elseif type(v)=='table'then " \
    "o=v " \
    "elseif v then " \
    "r=-1 " \
    "elseif r>0 then " \
    "r=0 end end " \
    "return o or r>0 and r+w or r"
#define WIRE_RELEASE_SHA1 "c65283a6ae61728729ef74334cfb1d617e6b6d7a"

#endif
