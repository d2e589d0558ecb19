# SPDX-License-Identifier: MIT
# usage: judged.sh PASSED CASE COMMAND...
# A case that has passed with others in one file (run_fail.py --precompile) lies in PASSED as it was then. Any other is judged by the command.
if cmp -s "$1" "$2"; then
  echo "it has passed with others in one file"
  exit 0
fi
shift 2
exec "$@"
