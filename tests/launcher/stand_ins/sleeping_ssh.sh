#!/bin/sh
# Stands in for an ssh whose host does not answer.
exec sleep 3600
