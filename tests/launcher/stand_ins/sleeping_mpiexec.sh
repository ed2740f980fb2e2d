#!/bin/sh
# An mpiexec that starts nothing.
exec sleep 3600
