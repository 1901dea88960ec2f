/* Scripts as the nodes get them, without comments and blanks and with short local names: generated
 * by tools/scripts from the files named below. Change them there, and run "make scripts". */
#ifndef REDLOCK_SCRIPTS_H
#define REDLOCK_SCRIPTS_H

/* redlock/kinds/fair_acquire.lua, with tell.lua, clock_ms.lua */
#define WIRE_FAIR_ACQUIRE_SCRIPT \
    "--!df flags=allow-undeclared-keys\n" \
    "local function t(q)" \
    "for _,m in ipairs(redis.pcall('zrange',q,0,15))do " \
    "local h=redis.pcall('publish','redlock:'..m:sub(42,57),m:sub(59))" \
    "if type(h)=='table'then return 0 end " \
    "if h>0 then return 1 end end " \
    "return 0 end " \
    "local o,m,i,l,s,p=unpack(ARGV)" \
    "local c,k=redis.call,KEYS[1]" \
    "local q,e,g=k..'#queue',k..'#lease',k..'#grant'" \
    "local u,r,n,y=p:match('^(%d+) (%d+) (%d) (.*)$')" \
    "local b=o:sub(1,40)..':'..y " \
    "local a=c('time')" \
    "local w=a[1]*1000+math.floor(a[2]/1000)" \
    "for _,d in ipairs(c('zrangebyscore',e,'-inf',w,'limit',0,64))do " \
    "c('zrem',q,d)" \
    "c('zrem',e,d)end " \
    "local h,d=c('zrange',q,0,0)[1],64 " \
    "while h and d>0 and(c('zscore',e,h)or 9e15)-w>10000 do " \
    "d=d-1 " \
    "c('zrem',q,h)" \
    "c('zrem',e,h)" \
    "h=c('zrange',q,0,0)[1]end " \
    "local v,f,j,x=c('get',k),i+0,-2,-2 " \
    "local z=f>0 and c('get',k..'#ticket')or'0'" \
    "local A=v==o " \
    "if not A or r+0>=tonumber(c('get',g)or 9007199254740991)then " \
    "if f>a[1]*1e6+a[2]+s*1e3 then " \
    "c('zrem',q,b)" \
    "c('zrem',e,b)" \
    "if A then " \
    "c('del',k,g)" \
    "t(q)end " \
    "return{err='AHEAD of the clock of this node: '..a[1]}end " \
    "if n=='1'then " \
    "c('pexpire',q,5000)" \
    "c('zadd',q,u,b)" \
    "c('pexpire',q,5000)" \
    "c('zadd',e,w+5000,b)" \
    "c('pexpire',e,5000)" \
    "h=c('zrange',q,0,0)[1]end " \
    "if h==(u~='0'and b or nil)then " \
    "if(not v or A)and(f==0 or f>tonumber(z))then " \
    "if f>0 then c('set',k..'#ticket',i,'px',l)end " \
    "local B=c('pttl',k)" \
    "c('set',g,r,'px',math.max(B,m+0))" \
    "if B~=-1 and B<m+0 then c('set',k,o,'px',m)end " \
    "return{ok='OK'}end " \
    "elseif A then " \
    "c('del',k,g)" \
    "t(q)end " \
    "x=c('zrank',q,b)or-1 end " \
    "if v and not A then " \
    "j=math.min(c('pttl',k),4294967295)" \
    "elseif h and h~=b then " \
    "j=math.max((c('zscore',e,h)or w)-w,0)end " \
    "return z..' '..j..' '..(c('zrevrange',q,0,0,'withscores')[2]or 0)..' '..x"
#define WIRE_FAIR_ACQUIRE_SHA1 "a946923fce9c9e54cef34ff6b7f69cd91194d6e2"

/* redlock/kinds/fair_extend.lua */
#define WIRE_FAIR_EXTEND_SCRIPT \
    "--!df flags=allow-undeclared-keys\n" \
    "local t,m=unpack(ARGV)" \
    "local c,k=redis.call,KEYS[1]" \
    "local g=k..'#grant'" \
    "if c('get',k)~=t then return 0 end " \
    "local l=c('pttl',k)" \
    "if c('pexpire',g,m)==0 then return 0 end " \
    "c('set',g,'9007199254740991','px',math.max(l,m+0))" \
    "if l>=0 and l<m+0 then c('pexpire',k,m)end " \
    "return 1"
#define WIRE_FAIR_EXTEND_SHA1 "c1fce82501302c95a408b60e0723bb4f2bcf0bd1"

/* redlock/kinds/fair_release.lua, with tell.lua, wake.lua */
#define WIRE_FAIR_RELEASE_SCRIPT \
    "--!df flags=allow-undeclared-keys\n" \
    "local function t(q)" \
    "for _,m in ipairs(redis.pcall('zrange',q,0,15))do " \
    "local h=redis.pcall('publish','redlock:'..m:sub(42,57),m:sub(59))" \
    "if type(h)=='table'then return 0 end " \
    "if h>0 then return 1 end end " \
    "return 0 end " \
    "local function w(k,i)" \
    "local c,a,o=redis.pcall,k..'#waiters',0 " \
    "if i then c('del',k..'#writer')end " \
    "while true do " \
    "local f=c('zpopmin',a)" \
    "local e=f[1]" \
    "if not e then " \
    "if not f.err then c('del',a..'#waiters')end " \
    "return o end " \
    "local r=e:sub(-1)=='s'" \
    "local h=(r or i and o==0)and " \
    "c('publish','redlock:'..e:sub(1,16),e:sub(18))" \
    "if not h or type(h)=='table'then " \
    "if type(c('pexpire',a,60000))~='table'then " \
    "c('zadd',a,f[2],e)" \
    "c('pexpire',a,60000)end " \
    "if o>0 and not r then c('set',k..'#writer',f[2]..' '..e,'px',20000)end " \
    "return o end " \
    "if h>0 then " \
    "o=o+1 " \
    "if not r then " \
    "c('set',k..'#writer',f[2]..' '..e,'px',1000)" \
    "return o end end end end " \
    "local o,e,a=unpack(ARGV)" \
    "local p,k=redis.pcall,KEYS[1]" \
    "local q,l=k..'#queue',k..'#lease'" \
    "local u,f=o:sub(1,40)..':'" \
    "for i,m in ipairs(p('zrange',q,0,15))do " \
    "if m:sub(1,41)==u then " \
    "p('zrem',q,m)" \
    "p('zrem',l,m)" \
    "f=f or i end end " \
    "p('zrem',q,u..e)" \
    "p('zrem',l,u..e)" \
    "local v,r,n=p('get',k),0,0 " \
    "if type(v)=='table'then return v end " \
    "if v==o then " \
    "redis.call('del',k,k..'#grant')" \
    "v,r=nil,1 " \
    "elseif v then " \
    "r=-1 end " \
    "if a and not v and(r==1 or f==1)then " \
    "n=t(q)" \
    "if not p('zrange',q,0,0)[1]then n=w(k,true)end end " \
    "return r>0 and n>0 and 2 or r"
#define WIRE_FAIR_RELEASE_SHA1 "99fa0cca01192b32f1abe75fd9db2fb450948500"

/* redlock/kinds/fair_restore.lua, with restore_one.lua, ahead.lua */
#define WIRE_FAIR_RESTORE_SCRIPT \
    "--!df flags=allow-undeclared-keys\n" \
    "local t,m,i,l,s=unpack(ARGV)" \
    "local c,k,e=redis.call,KEYS[1],i+0 " \
    "local v,o=c('get',k),k..'#ticket'" \
    "if v and v~=t then return'taken'end " \
    "if e>0 and e>tonumber(c('get',o)or 0)then " \
    "local a=c('time')" \
    "if e>a[1]*1e6+a[2]+s*1e3 then " \
    "return{err='AHEAD of the clock of this node: '..a[1]}end " \
    "c('set',o,i,'px',l)end " \
    "local f=c('pttl',k)" \
    "c('set',k..'#grant','9007199254740991','px',math.max(f,m+0))" \
    "if f~=-1 and f<m+0 then c('set',k,t,'px',m)end " \
    "return{ok='OK'}"
#define WIRE_FAIR_RESTORE_SHA1 "b0b58e1395c81155857af9f265d3f1aff9719fe5"

/* redlock/kinds/period_mark.lua */
#define WIRE_MARK_SCRIPT \
    "--!df flags=allow-undeclared-keys\n" \
    "local t,m,l,s=unpack(ARGV)" \
    "local c,n,f=redis.call,KEYS[1]..'#done','^(%d+) (%x+) (%d+)'" \
    "local p,a,w=m:match(f)" \
    "local h=c('get',n)" \
    "if h then " \
    "local i,r=h:match(f)" \
    "if not i then return{err='ERR '..n..' is no mark of a period'}end " \
    "if i+0>p+0 or i+0==p+0 and r~=a then return h end end " \
    "if c('get',KEYS[1])~=t then return 0 end " \
    "local o=c('time')" \
    "local e=w-o[1]*1e3-o[2]/1e3 " \
    "if e>s+0 then return{err='AHEAD of the clock of this node: '..o[1]}end " \
    "if-e>s+0 then return{err='BEHIND the clock of this node: '..o[1]}end " \
    "if l~='0'then c('set',n,m,'px',math.max(l+0,c('pttl',n)))end " \
    "return 1"

/* redlock/kinds/permit_acquire.lua, with ahead.lua */
#define WIRE_PERMIT_ACQUIRE_SCRIPT \
    "--!df flags=allow-undeclared-keys\n" \
    "local t,m,i,l,s,c,w,e=unpack(ARGV)" \
    "local a,k,r,f=redis.call,i+0,'0',-1 " \
    "local b,d={},tonumber(t:sub(1,8),16)" \
    "for o=1,c do b[o]=o end " \
    "if w~='0'then b,c={w+0},1 end " \
    "for g=c,1,-1 do " \
    "d=d*16807%2147483647 " \
    "local h=d%g+1 " \
    "local o=b[h]" \
    "b[h]=b[g]" \
    "local y=KEYS[1]..':'..o " \
    "local j=math.min(a('pttl',y),4294967295)" \
    "if j==-2 then " \
    "f=j " \
    "local u=k>0 and a('get',y..'#ticket')or'0'" \
    "if k==0 or k>tonumber(u)then " \
    "if k>0 then " \
    "local n=a('time')" \
    "if k>n[1]*1e6+n[2]+s*1e3 then " \
    "return{err='AHEAD of the clock of this node: '..n[1]}end " \
    "a('set',y..'#ticket',i,'px',l)end " \
    "a('set',y,t,'px',m)" \
    "if e~=''then redis.pcall('zrem',KEYS[1]..':#waiters',e)end " \
    "return o end " \
    "if tonumber(u)>tonumber(r)then r=u end " \
    "elseif j>=0 and f~=-2 and(f<0 or j<f)then " \
    "f=j end end " \
    "return r..' '..f"
#define WIRE_PERMIT_ACQUIRE_SHA1 "46b35feca36514f3b699803a8190686ce7f09c53"

/* redlock/kinds/permit_extend.lua, with lengthen.lua */
#define WIRE_PERMIT_EXTEND_SCRIPT \
    "--!df flags=allow-undeclared-keys\n" \
    "local t,m,_,h=unpack(ARGV)" \
    "local c,k=redis.call,KEYS[1]..':'..h " \
    "if c('get',k)~=t then return 0 end " \
    "local l=c('pttl',k)" \
    "if l>=0 and l<m+0 then c('pexpire',k,m)end " \
    "return 1"
#define WIRE_PERMIT_EXTEND_SHA1 "2554f72a7f3b2b7384747b1edccb5502e59d3b7d"

/* redlock/kinds/permit_release.lua, with wake_first.lua */
#define WIRE_PERMIT_RELEASE_SCRIPT \
    "--!df flags=allow-undeclared-keys\n" \
    "local t,e,c,h=unpack(ARGV)" \
    "local a,b,r,w,o=redis.pcall,KEYS[1]..':',0,0 " \
    "local i=b..'#waiters'" \
    "local f=i..'#waiters'" \
    "if e~=''then a('zrem',i,e)end " \
    "for s=1,c do " \
    "local k,u=b..s,'@'..s " \
    "local v=a('get',k)" \
    "if v==t then " \
    "local l=s==h+0 " \
    "local d=a('del',k,l and f or k)" \
    "if type(d)=='table'then " \
    "redis.call('del',k)" \
    "d=l and 2 end " \
    "r=1 " \
    "if d==2 then " \
    "local g=a('zpopmin',i)" \
    "while g[1]do " \
    "local j=a('publish','redlock:'..g[1]:sub(1,16),g[1]:sub(18)..u)" \
    "if j~=0 then " \
    "if type(j)~='table'then " \
    "w=1 " \
    "elseif type(a('pexpire',i,60000))~='table'then " \
    "a('zadd',i,g[2],g[1])" \
    "a('pexpire',i,60000)end " \
    "a('set',f,'','px',60000)break end " \
    "g=a('zpopmin',i)end end " \
    "elseif type(v)=='table'then " \
    "o=v end end " \
    "return r>0 and r+w or o or 0"
#define WIRE_PERMIT_RELEASE_SHA1 "027e0f36e7a0d9e021ab3c3200ca23d0210664cc"

/* redlock/kinds/permit_restore.lua, with restore_one.lua, ahead.lua */
#define WIRE_PERMIT_RESTORE_SCRIPT \
    "--!df flags=allow-undeclared-keys\n" \
    "local t,m,i,l,s,c,h=unpack(ARGV)" \
    "local a,b,k=redis.call,KEYS[1]..':',i+0 " \
    "local e=b..h " \
    "for o=1,c do " \
    "if o~=h+0 and redis.pcall('get',b..o)==t then a('del',b..o)end end " \
    "local v,o=a('get',e),e..'#ticket'" \
    "if v and v~=t then return'taken'end " \
    "if k>0 and k>tonumber(a('get',o)or 0)then " \
    "local d=a('time')" \
    "if k>d[1]*1e6+d[2]+s*1e3 then " \
    "return{err='AHEAD of the clock of this node: '..d[1]}end " \
    "a('set',o,i,'px',l)end " \
    "local f=a('pttl',e)" \
    "if f~=-1 and f<m+0 then a('set',e,t,'px',m)end " \
    "return{ok='OK'}"
#define WIRE_PERMIT_RESTORE_SHA1 "3ffa26d2de8beafb2b5b63bf7281532efaa6de22"

/* redlock/kinds/permit_wait.lua, with line_up.lua */
#define WIRE_PERMIT_WAIT_SCRIPT \
    "--!df flags=allow-undeclared-keys\n" \
    "local e,a,l,c=unpack(ARGV)" \
    "local b,s,f=redis.call,KEYS[1]..':',-1 " \
    "for o=1,c do " \
    "local m=b('pttl',s..o)" \
    "f=f~=-2 and(m==-2 or m>=0 and(f<0 or m<f))and m " \
    "or f end " \
    "local w=s..'#waiters'" \
    "b('set',w..'#waiters','','px',l)" \
    "b('pexpire',w,l)" \
    "b('zadd',w,a,e)" \
    "b('pexpire',w,l)" \
    "return f"
#define WIRE_PERMIT_WAIT_SHA1 "1d764831a8f7766e95df12ce711bad92fb74d364"

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

/* redlock/kinds/plain_extend.lua, with lengthen.lua */
#define WIRE_EXTEND_SCRIPT \
    "local t,m=unpack(ARGV)" \
    "local c=redis.call " \
    "for _,k in ipairs(KEYS)do " \
    "if c('get',k)~=t then return 0 end end " \
    "for _,k in ipairs(KEYS)do " \
    "local l=c('pttl',k)" \
    "if l>=0 and l<m+0 then c('pexpire',k,m)end end " \
    "return 1"
#define WIRE_EXTEND_SHA1 "2464ae3cd9e512ed76dab3782507e15dc65f3722"

/* redlock/kinds/plain_extend_one.lua, with lengthen.lua */
#define WIRE_EXTEND_ONE_SCRIPT \
    "local t,m=unpack(ARGV)" \
    "local c,k=redis.call,KEYS[1]" \
    "if c('get',k)~=t then return 0 end " \
    "local l=c('pttl',k)" \
    "if l>=0 and l<m+0 then c('pexpire',k,m)end " \
    "return 1"
#define WIRE_EXTEND_ONE_SHA1 "3c3d3675540ef0b2d86b1644bae2f572aa4b1082"

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

/* redlock/kinds/plain_release_one.lua */
#define WIRE_RELEASE_ONE_SCRIPT \
    "local v=redis.call('get',KEYS[1])" \
    "if v==ARGV[1]then return redis.call('del',KEYS[1])end " \
    "return v and-1 or 0"
#define WIRE_RELEASE_ONE_SHA1 "85910b11bc19745422ba315d9a2f0934c7d9b6db"

/* redlock/kinds/plain_restore.lua, with ahead.lua */
#define WIRE_RESTORE_SCRIPT \
    "--!df flags=allow-undeclared-keys\n" \
    "local t,m,i,l,s=unpack(ARGV)" \
    "local c,k,a=redis.call,i+0,{}" \
    "for _,e in ipairs(KEYS)do " \
    "local v,o=c('get',e),e..'#ticket'" \
    "if v and v~=t then return'taken'end " \
    "if k>0 and k>tonumber(c('get',o)or 0)then " \
    "a[#a+1]=o end end " \
    "if a[1]then " \
    "local o=c('time')" \
    "if k>o[1]*1e6+o[2]+s*1e3 then " \
    "return{err='AHEAD of the clock of this node: '..o[1]}end end " \
    "for _,o in ipairs(a)do c('set',o,i,'px',l)end " \
    "for _,e in ipairs(KEYS)do " \
    "local f=c('pttl',e)" \
    "if f~=-1 and f<m+0 then c('set',e,t,'px',m)end end " \
    "return{ok='OK'}"
#define WIRE_RESTORE_SHA1 "43b25e978904cb71ea9abfc039aa0b6a51b46dbe"

/* redlock/kinds/plain_wait.lua, with line_up.lua */
#define WIRE_WAIT_SCRIPT \
    "--!df flags=allow-undeclared-keys\n" \
    "local p,a,l,m=unpack(ARGV)" \
    "local c,b,o=redis.call,redis.pcall,-2 " \
    "for i,k in ipairs(KEYS)do " \
    "local r,w,t,e=m:sub(i,i)=='s',k..'#writer',k..'#waiters',c('pttl',k)" \
    "local n=p..(r and's'or'')" \
    "c('set',t..'#waiters','','px',l)" \
    "c('pexpire',t,l)" \
    "c('zadd',t,a,n)" \
    "c('pexpire',t,l)" \
    "local h,s=b('get',w),b('get',k)=='~shared'" \
    "local d=type(h)=='string'and tonumber(h:match('^%d+')or a)<tonumber(a)" \
    "if r and(e==-2 or s)then " \
    "e=d and c('pttl',w)or-2 " \
    "elseif s and not r and not d then " \
    "b('set',w,a..' '..n,'px',20000)end " \
    "o=o~=-1 and(e==-1 or e>o)and e or o end " \
    "return o"
#define WIRE_WAIT_SHA1 "e8ffb0bc9ca61e4244737b9b42668d268d7a7d78"

/* redlock/kinds/promotion.lua, with clock_ms.lua */
#define WIRE_PROMOTION_SCRIPT \
    "local c,e=redis.call,ARGV[1]" \
    "local l=c('time')" \
    "local n=l[1]*1000+math.floor(l[2]/1000)" \
    "local h=c('info','replication'):match('master_replid:(%x+)')" \
    "local i,t,s=(c('get',KEYS[1])or''):match('^(%x+) (%d+) (%d+)$')" \
    "if i==h and t==e then return math.max(n-s,0)end " \
    "if not i or t+0<=e+0 then c('set',KEYS[1],h..' '..e..' '..n)end " \
    "return 0"

/* redlock/kinds/redisson_acquire.lua */
#define WIRE_REDISSON_ACQUIRE_SCRIPT \
    "local f,t=unpack(ARGV)" \
    "local c,k=redis.call,KEYS[1]" \
    "local l=c('pttl',k)" \
    "if l~=-2 then return'0 '..math.min(l,4294967295)end " \
    "c('pexpire',k,t)" \
    "c('hset',k,f,1)" \
    "c('pexpire',k,t)" \
    "return{ok='OK'}"
#define WIRE_REDISSON_ACQUIRE_SHA1 "1d726e5b4feef94fa008abe5c2103a377bffc8c3"

/* redlock/kinds/redisson_extend.lua, with lengthen.lua */
#define WIRE_REDISSON_EXTEND_SCRIPT \
    "local f,t=unpack(ARGV)" \
    "local c,k=redis.call,KEYS[1]" \
    "if c('type',k).ok~='hash'or c('hexists',k,f)==0 then return 0 end " \
    "local l=c('pttl',k)" \
    "if l>=0 and l<t+0 then c('pexpire',k,t)end " \
    "return 1"
#define WIRE_REDISSON_EXTEND_SHA1 "5d655f980d902e1edf23877babcb9bcca00389d6"

/* redlock/kinds/redisson_release.lua */
#define WIRE_REDISSON_RELEASE_SCRIPT \
    "--!df flags=allow-undeclared-keys\n" \
    "local c,p,k,r=redis.call,redis.pcall,KEYS[1],1 " \
    "local i=c('type',k).ok " \
    "if i~='hash'or c('hdel',k,ARGV[1])==0 then return i=='none'and 0 or-1 end " \
    "local n=k:find('{',1,true)and k or'{'..k..'}'" \
    "local function t(h)" \
    "local e=p('publish','redisson_lock__channel:'..h,'0')" \
    "if type(e)=='number'and e>0 then r=2 end end " \
    "t(n)" \
    "local l=p('time')" \
    "local m=(l[1]or 0)*1000+(l[2]or 0)/1000 " \
    "for _,w in ipairs(p('lrange','redisson_lock_queue:'..n,0,63))do " \
    "local u=p('zscore','redisson_lock_timeout:'..n,w)" \
    "if type(u)~='string'or tonumber(u)>m then " \
    "t(n..':'..w)break end end " \
    "return r"
#define WIRE_REDISSON_RELEASE_SHA1 "e4d18f567f5df9084dac7d555f4d72401c766ab2"

/* redlock/kinds/shared_acquire.lua, with wake.lua, clock_ms.lua, admit.lua, ahead.lua */
#define WIRE_SHARED_ACQUIRE_SCRIPT \
    "--!df flags=allow-undeclared-keys\n" \
    "local function w(k,i)" \
    "local c,a,t=redis.pcall,k..'#waiters',0 " \
    "if i then c('del',k..'#writer')end " \
    "while true do " \
    "local f=c('zpopmin',a)" \
    "local e=f[1]" \
    "if not e then " \
    "if not f.err then c('del',a..'#waiters')end " \
    "return t end " \
    "local r=e:sub(-1)=='s'" \
    "local h=(r or i and t==0)and " \
    "c('publish','redlock:'..e:sub(1,16),e:sub(18))" \
    "if not h or type(h)=='table'then " \
    "if type(c('pexpire',a,60000))~='table'then " \
    "c('zadd',a,f[2],e)" \
    "c('pexpire',a,60000)end " \
    "if t>0 and not r then c('set',k..'#writer',f[2]..' '..e,'px',20000)end " \
    "return t end " \
    "if h>0 then " \
    "t=t+1 " \
    "if not r then " \
    "c('set',k..'#writer',f[2]..' '..e,'px',1000)" \
    "return t end end end end " \
    "local t,m,i,l,s,o,a=unpack(ARGV)" \
    "local c,k,r,e,u=redis.call,i+0,'0'" \
    "local b=c('time')" \
    "local n=b[1]*1000+math.floor(b[2]/1000)" \
    "local function d(y,f,g)" \
    "local h=math.max(g,tonumber(c('zrevrange',f,0,0,'withscores')[2]or 0))" \
    "c('pexpireat',f,h)" \
    "c('zadd',f,g,t)" \
    "c('pexpireat',f,h)" \
    "c('set',y,'~shared')" \
    "c('pexpireat',y,h)end " \
    "for f,y in ipairs(KEYS)do " \
    "local v,g,h=c('get',y),y,o:sub(f,f)=='s'" \
    "if h and(not v or v=='~shared')then " \
    "local j=a~='0'and c('get',y..'#writer')" \
    "g=j and tonumber(j:match('^%d+')or a)<tonumber(a)and y..'#writer'" \
    "elseif not v then " \
    "g=nil end " \
    "if g then " \
    "local p=math.min(c('pttl',g),4294967295)" \
    "if e~=-1 and(p==-1 or not e or p>e)then e=p end end " \
    "local j=k>0 and c('get',y..'#ticket')" \
    "if j and tonumber(j)>tonumber(r)then r=j end " \
    "if j and k<tonumber(j)+(h and 0 or 1)then u=true end end " \
    "if e or u then return r..' '..(e or-2)end " \
    "if k>b[1]*1e6+b[2]+s*1e3 then " \
    "return{err='AHEAD of the clock of this node: '..b[1]}end " \
    "for f,y in ipairs(KEYS)do " \
    "if k>0 then c('set',y..'#ticket',i,'px',l)end " \
    "if o:sub(f,f)=='s'then " \
    "local g=y..'#readers'" \
    "if c('get',y)then c('zremrangebyscore',g,'-inf',n)else c('del',g)end " \
    "d(y,g,math.max(n+m,tonumber(c('zscore',g,t)or 0)))" \
    "w(y)else " \
    "c('set',y,t,'px',m)end end " \
    "return{ok='OK'}"
#define WIRE_SHARED_ACQUIRE_SHA1 "1db1027ec117ba679011c251a1819a9b8a2d35f9"

/* redlock/kinds/shared_extend.lua, with wake.lua, clock_ms.lua, admit.lua, ahead.lua */
#define WIRE_SHARED_EXTEND_SCRIPT \
    "--!df flags=allow-undeclared-keys\n" \
    "local function w(k,i)" \
    "local c,a,t=redis.pcall,k..'#waiters',0 " \
    "if i then c('del',k..'#writer')end " \
    "while true do " \
    "local f=c('zpopmin',a)" \
    "local e=f[1]" \
    "if not e then " \
    "if not f.err then c('del',a..'#waiters')end " \
    "return t end " \
    "local r=e:sub(-1)=='s'" \
    "local h=(r or i and t==0)and " \
    "c('publish','redlock:'..e:sub(1,16),e:sub(18))" \
    "if not h or type(h)=='table'then " \
    "if type(c('pexpire',a,60000))~='table'then " \
    "c('zadd',a,f[2],e)" \
    "c('pexpire',a,60000)end " \
    "if t>0 and not r then c('set',k..'#writer',f[2]..' '..e,'px',20000)end " \
    "return t end " \
    "if h>0 then " \
    "t=t+1 " \
    "if not r then " \
    "c('set',k..'#writer',f[2]..' '..e,'px',1000)" \
    "return t end end end end " \
    "local t,m,o,d,i,l,s=unpack(ARGV)" \
    "local c,h,k=redis.call,d and d..t:sub(41),tonumber(i or 0)" \
    "local a=c('time')" \
    "local n=a[1]*1000+math.floor(a[2]/1000)" \
    "local function b(e,r,u)" \
    "local f=math.max(u,tonumber(c('zrevrange',r,0,0,'withscores')[2]or 0))" \
    "c('pexpireat',r,f)" \
    "c('zadd',r,u,t)" \
    "c('pexpireat',r,f)" \
    "c('set',e,'~shared')" \
    "c('pexpireat',e,f)end " \
    "for e,y in ipairs(KEYS)do " \
    "local v,r,f=c('get',y),y..'#readers',o:sub(e,e)=='s'" \
    "if f and v=='~shared'then " \
    "if tonumber(c('zscore',r,t)or 0)<=n then return 0 end " \
    "elseif h and not f and v=='~shared'then " \
    "c('zremrangebyscore',r,'-inf',n)" \
    "if not c('zscore',r,h)then return 0 end " \
    "if c('zcard',r)>1 then return-1 end " \
    "local u=k>0 and c('get',y..'#ticket')" \
    "if u and k<=tonumber(u)then return-2 end " \
    "if k>a[1]*1e6+a[2]+s*1e3 then " \
    "return{err='AHEAD of the clock of this node: '..a[1]}end " \
    "elseif v~=(f and(h or 0)or t)then " \
    "return 0 end end " \
    "for e,y in ipairs(KEYS)do " \
    "local r,f,g=y..'#readers',o:sub(e,e)=='s',c('get',y)=='~shared'" \
    "local j,u=c('pttl',y),n+m " \
    "if f then " \
    "if not g then c('del',r)end " \
    "b(y,r,math.max(u,tonumber(g and c('zscore',r,t)or n+j)))" \
    "if not g then w(y)end " \
    "elseif g then " \
    "u=math.max(u,tonumber(c('zscore',r,h)))" \
    "if k>0 then c('set',y..'#ticket',i,'px',l)end " \
    "c('pexpireat',y,u)" \
    "c('set',y,t)" \
    "c('pexpireat',y,u)" \
    "c('del',r)" \
    "elseif j>=0 and j<m+0 then " \
    "c('pexpire',y,m)end end " \
    "return 1"
#define WIRE_SHARED_EXTEND_SHA1 "997a471748020fd10547663c34b1d8313f32a318"

/* redlock/kinds/shared_release.lua, with wake.lua */
#define WIRE_SHARED_RELEASE_SCRIPT \
    "--!df flags=allow-undeclared-keys\n" \
    "local function w(k,i)" \
    "local c,a,t=redis.pcall,k..'#waiters',0 " \
    "if i then c('del',k..'#writer')end " \
    "while true do " \
    "local f=c('zpopmin',a)" \
    "local e=f[1]" \
    "if not e then " \
    "if not f.err then c('del',a..'#waiters')end " \
    "return t end " \
    "local r=e:sub(-1)=='s'" \
    "local h=(r or i and t==0)and " \
    "c('publish','redlock:'..e:sub(1,16),e:sub(18))" \
    "if not h or type(h)=='table'then " \
    "if type(c('pexpire',a,60000))~='table'then " \
    "c('zadd',a,f[2],e)" \
    "c('pexpire',a,60000)end " \
    "if t>0 and not r then c('set',k..'#writer',f[2]..' '..e,'px',20000)end " \
    "return t end " \
    "if h>0 then " \
    "t=t+1 " \
    "if not r then " \
    "c('set',k..'#writer',f[2]..' '..e,'px',1000)" \
    "return t end end end end " \
    "local t,e,d=unpack(ARGV)" \
    "local c,p,r,o,u=redis.call,redis.pcall,1,0 " \
    "local h=d and d..t:sub(41)or t " \
    "e=e~='-'and e " \
    "for _,k in ipairs(KEYS)do " \
    "local v,a,i,f=p('get',k),k..'#readers',k..'#writer'" \
    "if e and e~=''then " \
    "p('zrem',k..'#waiters',e,e..'s')" \
    "local n=p('get',i)" \
    "if type(n)=='string'and n:match(' (.*)')==e then p('del',i)end end " \
    "if v==t or v==h then " \
    "f=p('del',k)" \
    "if type(f)=='table'then u,f=f,nil end " \
    "elseif v=='~shared'then " \
    "if c('zrem',a,t,h)>0 then " \
    "local l=c('time')" \
    "c('zremrangebyscore',a,'-inf',l[1]*1000+math.floor(l[2]/1000))" \
    "local m=c('zrevrange',a,0,0,'withscores')[2]" \
    "if m then " \
    "c('pexpireat',k,m)" \
    "c('pexpireat',a,m)else " \
    "f=c('del',k,a)end else " \
    "r=-1 end " \
    "if e and not f then o=o+w(k)end " \
    "elseif type(v)=='table'then " \
    "u=v " \
    "elseif v then " \
    "r=-1 " \
    "elseif r>0 then " \
    "r=0 end " \
    "if e and f then o=o+w(k,f)end end " \
    "return u or r>0 and o>0 and 2 or r"
#define WIRE_SHARED_RELEASE_SHA1 "ab87aaa7f82ee100727bfca959269117481c5c35"

#endif
