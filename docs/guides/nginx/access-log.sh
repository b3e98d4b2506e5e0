#!/bin/sh
# Switches nginx's access log on or off, and waits until the new workers serve.
set -e
case "$1" in
on) echo 'access_log access.log;' >access-log.conf ;;
off) echo 'access_log off;' >access-log.conf ;;
*) echo "usage: access-log.sh on|off" >&2; exit 2 ;;
esac
nginx -p . -c nginx.conf -e stderr -s reload
sleep 0.3
