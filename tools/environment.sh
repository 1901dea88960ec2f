# shellcheck shell=sh
# For scripts that show, measure or test the command on servers of their own:  . tools/environment.sh
#
# What a person has in the environment for servers of theirs, or a redlock around this script has put there, is not for these: all that
# begins with REDLOCK_, but for REDLOCK_TEST_...; and whom systemd wants to hear from.
for a_variable in $(env | sed -n 's/^\(REDLOCK_[A-Za-z_]*\)=.*/\1/p'); do
    case $a_variable in REDLOCK_TEST_*) ;; *) unset "$a_variable" ;; esac
done
unset a_variable NOTIFY_SOCKET
