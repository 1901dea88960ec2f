/* Scripts as the nodes get them, without comments and blanks and with short local names: generated
 * by tools/scripts from the files named below. Change them there, and run "make scripts". */
#ifndef COMMAND_SCRIPTS_H
#define COMMAND_SCRIPTS_H

/* tools/redlock/proclaim.lua */
#define PROCLAIM_SCRIPT \
    "--!df flags=allow-undeclared-keys\n" \
    "if redis.call('get',KEYS[1])~=ARGV[1]then return 0 end " \
    "redis.call('set',KEYS[1]..'#leader',ARGV[2]..' '..ARGV[3],'px',ARGV[4])" \
    "return 1"

/* tools/redlock/readers.lua, with clock_ms.lua */
#define READERS_SCRIPT \
    "local c=redis.call " \
    "local l=c('time')" \
    "local n=l[1]*1000+math.floor(l[2]/1000)" \
    "local r,a,o=c('zrevrange',KEYS[1],0,-1,'withscores'),{0,c('get',KEYS[2])or''},0 " \
    "for i=1,#r,2 do " \
    "local e=tonumber(r[i+1])" \
    "if e>n then " \
    "o=o+1 " \
    "if o<=tonumber(ARGV[1])then " \
    "a[#a+1]=r[i]" \
    "a[#a+1]=e-n end end end " \
    "a[1]=o " \
    "return a"

/* tools/redlock/resign.lua */
#define RESIGN_SCRIPT \
    "--!df flags=allow-undeclared-keys\n" \
    "if redis.call('get',KEYS[1])~=ARGV[1]then return 0 end " \
    "return redis.call('del',KEYS[1]..'#leader')"

#endif
