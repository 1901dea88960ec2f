# shellcheck shell=sh
# For scripts that show, measure or test the command on servers of their own. Use: . tools/environment.sh
#
# Settings of a person for servers of theirs, or of a redlock around this script, are not for these scripts.
# They are all variables that begin with REDLOCK_, except REDLOCK_TEST_...; and systemd's notify socket.
for a_variable in $(env | sed -n 's/^\(REDLOCK_[A-Za-z_]*\)=.*/\1/p'); do
    case $a_variable in REDLOCK_TEST_*) ;; *) unset "$a_variable" ;; esac
done
unset a_variable NOTIFY_SOCKET
