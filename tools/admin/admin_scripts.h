/* Scripts as the nodes get them, without comments and blanks and with short local names: generated
 * by tools/scripts from the files named below. Change them there, and run "make scripts". */
#ifndef ADMIN_SCRIPTS_H
#define ADMIN_SCRIPTS_H

/* tools/admin/removal.lua, with wake_first.lua */
#define REMOVAL_SCRIPT \
    "--!df flags=allow-undeclared-keys\n" \
    "local v,t,l=unpack(ARGV)" \
    "local s,c,k,u,w=redis.call,redis.pcall,KEYS[1],'',0 " \
    "local f,a,o=s('get',k),k..'#waiters',k..'#ticket'" \
    "local g=a..'#waiters'" \
    "if f and f~=v then return-1 end " \
    "if t~='0'and tonumber(s('get',o)or 0)<tonumber(t)then " \
    "s('set',o,t,'px',math.max(l+0,s('pttl',o)))end " \
    "if not f then return 0 end " \
    "local d=c('del',k,g)" \
    "if type(d)=='table'then s('del',k)end " \
    "if d==1 then return 1 end " \
    "local i=c('zpopmin',a)" \
    "while i[1]do " \
    "local h=c('publish','redlock:'..i[1]:sub(1,16),i[1]:sub(18)..u)" \
    "if h~=0 then " \
    "if type(h)~='table'then " \
    "w=1 " \
    "elseif type(c('pexpire',a,60000))~='table'then " \
    "c('zadd',a,i[2],i[1])" \
    "c('pexpire',a,60000)end " \
    "c('set',g,'','px',60000)break end " \
    "i=c('zpopmin',a)end " \
    "return 1+w"

/* tools/admin/scan_known.lua */
#define SCAN_KNOWN_SCRIPT \
    "local a,n,t={},ARGV[1],1 " \
    "while t<=#n do " \
    "local _,c,s=n:find('^(%d+):',t)" \
    "a[#a+1]=redis.pcall('exists',n:sub(c+1,c+s))==1 and'1'or'0'" \
    "t=c+s+1 end " \
    "return table.concat(a)"

/* tools/admin/scan_look.lua, with clock_ms.lua, scan_moving.lua */
#define SCAN_LOOK_SCRIPT \
    "--!df flags=allow-undeclared-keys\n" \
    "local c,a,n,t=redis.call,{},ARGV[1],1 " \
    "local l=c('time')" \
    "local m=l[1]*1000+math.floor(l[2]/1000)" \
    "local function i(e)" \
    "local w=type(e)=='table'and e.err or e " \
    "return w:find(' cluster ',1,true)or w:find('not served',1,true)end " \
    "local function q(k,v)" \
    "local h,e,o,f,u=type(v)=='string'and v:sub(1,40),k..'#lease',0 " \
    "for _,b in ipairs(c('zrange',k..'#queue',0,63))do " \
    "local d=tonumber(c('zscore',e,b)or 0)" \
    "if d>m and b:sub(1,40)~=h then " \
    "o=o+1 " \
    "if not f then f,u=b,d end end end " \
    "if o>63 then o=c('zcount',e,'('..m,'+inf')end " \
    "return o,f,u end " \
    "local function o(k)" \
    "local d=c('type',k).ok " \
    "if d=='none'or k:sub(-8)=='#readers'and redis.pcall('get',k:sub(1,-9))=='~shared'then " \
    "return'-'end " \
    "local e,r,u,v=c('pttl',k),'o',0,''" \
    "if d=='string'then " \
    "r,v='s',c('getrange',k,0,ARGV[2])" \
    "local s,b=pcall(q,k,v)" \
    "u=s and b or 0 " \
    "if v=='~shared'then " \
    "r,u='m',c('zcount',k..'#readers','('..m,'+inf')end " \
    "elseif d=='zset'and k:sub(-6)=='#queue'then " \
    "local b,f,s=q(k:sub(1,-7),redis.pcall('get',k:sub(1,-7)))" \
    "if b>0 then " \
    "r,u,v=e<0 and'o'or'q',b,f:sub(1,80)..' '..string.format('%.0f',s)" \
    "e=e<0 and e or s-m " \
    "elseif e>=0 then " \
    "return'-'end " \
    "elseif d=='hash'then " \
    "local j=c('hexists',k,'mode')==1 " \
    "if not j and c('hlen',k)<=64 then " \
    "j=c('hkeys',k)[1]:match('^%x+%-%x+%-%x+%-%x+%-%x+:%d+$')end " \
    "if j then r='r'end end " \
    "if(r=='o'or r=='s'and e==-1)and c('exists',k..'#ticket')==1 then r=r:upper()end " \
    "return r..string.format('%.0f',e)..' '..u..' '..#v..':'..v end " \
    "while t<=#n do " \
    "local _,b,s=n:find('^(%d+):',t)" \
    "local k,w=pcall(o,n:sub(b+1,b+s))" \
    "a[#a+1]=k and w or i(w)and'>'or'!'" \
    "t=b+s+1 end " \
    "return table.concat(a)"

/* tools/admin/scan_step.lua, with scan_moving.lua */
#define SCAN_STEP_SCRIPT \
    "--!df flags=allow-undeclared-keys\n" \
    "local c,n,b,h,m,e,t,o,l=redis.call,{},0,0,0,0,0,0,0 " \
    "local s=c('scan',ARGV[1],'match',ARGV[2],'count',ARGV[3])" \
    "local function i(r)" \
    "local w=type(r)=='table'and r.err or r " \
    "return w:find(' cluster ',1,true)or w:find('not served',1,true)end " \
    "local function d(k,u)" \
    "if u=='#ticket'then " \
    "t=t+1 " \
    "o=o+1-c('exists',k:sub(1,-8))end " \
    "if u=='#queue'and c('type',k).ok=='zset'then return true end " \
    "return c('pttl',k)==-1 or u=='#readers'and " \
    "redis.pcall('get',k:sub(1,-9))~='~shared'end " \
    "for _,a in ipairs(s[2])do " \
    "local g,f=a:match('#%l+$'),true " \
    "if g and(' #ticket #waiters #leader #done #readers #writer #queue #lease #grant " \
    "'):find(' '..g..' ',1,true)then " \
    "e=e+1 " \
    "local k,r=pcall(d,a,g)" \
    "if not k and i(r)then m=m+1 " \
    "elseif not k then h=h+1 end " \
    "f=k and r end " \
    "if a=='redlock:canary#done#done'or a=='redlock:promoted#done#done'then " \
    "e=e+1 " \
    "f=false end " \
    "if f and#a>1024 then " \
    "l=l+1 " \
    "f=false end " \
    "if f then " \
    "n[#n+1]=#a..':'..a " \
    "b=b+#a+6 end end " \
    "if b>49152 then return'more'end " \
    "return table.concat({s[1],#s[2],h,m,e,t,o,l,table.concat(n)},' ')"

#endif
