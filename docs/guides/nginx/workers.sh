#!/bin/sh
# Sets the number of nginx's workers to that of a cell of a sweep, "note=workers=4 c=50", and waits
# until the new workers serve.
set -e
count=${1##*workers=}
count=${count%% *}
case "$count" in
'' | *[!0-9]*) echo "usage: workers.sh workers=N" >&2; exit 2 ;;
esac
sed "s/^worker_processes .*/worker_processes $count;/" nginx.conf >nginx.conf.new
mv nginx.conf.new nginx.conf
nginx -p . -c nginx.conf -e stderr -s reload
sleep 0.3
