#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs words of a shell in the network namespace NAME, as on a machine of that name: on_machine.sh NAME WORDS... Open MPI starts its daemons by it
# where it would start them by ssh.
name=$1
shift
exec ip netns exec "$name" unshare --uts sh -c "hostname '$name' && $*"
