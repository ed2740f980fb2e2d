#!/bin/sh
# Stands in for an ssh whose host refuses; the last line has no end.
printf 'Warning: a matter of no weight\nPermission denied' >&2
exit 255
