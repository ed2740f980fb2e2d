#!/bin/sh
# Stands in for ssh: drops the options and the host, runs the command on this machine.
while [ "${1#-}" != "$1" ]; do
  [ "$1" = -o ] && shift
  shift
done
shift
exec sh -c "$*"
