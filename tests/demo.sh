#!/bin/sh
# The main job, on a scratch repository: an agent's calls change files, somebody else changes one of them too, and a
# restore takes back what is the agent's and leaves what is not.
set -eu
# One stream, so that a log has the lines in their order.
exec 2>&1

turnback=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
sources=$(cd "$(dirname "$0")/.." && pwd)
scratch=$(mktemp -d "${TMPDIR:-/tmp}/turnback-demo.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
# Neither the caller's configuration nor a surrounding repository matters here.
unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE
HOME=$scratch
XDG_CONFIG_HOME=$scratch/config
export HOME XDG_CONFIG_HOME

title() { printf '\n\033[1m%s\033[0m\n' "$*"; }
show() { printf '$ %s\n' "$*"; }
tb() { PATH=$(dirname "$turnback"):$PATH turnback "$@"; }

mkdir "$scratch/project"
cd "$scratch/project"
git init -q .
cp -r "$sources/guest/src" src
cp "$sources/LICENSE" LICENSE
git add -A
git -c user.name=demo -c user.email=demo@localhost commit -qm 'a project'
printf 'ideas, not committed yet\n' > notes.txt

title 'A user sends a message: the workspace is recorded.'
show 'turnback capture --session demo --boundary message-1'
tb capture --session demo --boundary message-1

title "The agent's first shell call edits a file and deletes another."
show "turnback run --session demo -- sh -c 'sed -i s/Ledger/Book/g src/ledger.rs && rm notes.txt'"
tb run --session demo -- sh -c 'sed -i s/Ledger/Book/g src/ledger.rs && rm notes.txt'

title 'Its second call makes a file and edits two more.'
show "turnback run --session demo -- sh -c 'mkdir gen && date > gen/stamp.txt && echo // >> src/plan.rs && echo // >> src/ids.rs'"
tb run --session demo -- sh -c 'mkdir gen && date > gen/stamp.txt && echo // >> src/plan.rs && echo // >> src/ids.rs'

title 'Meanwhile the user fixes something in one of them, and it is saved.'
show "echo '// my own fix' >> src/plan.rs"
echo '// my own fix' >> src/plan.rs

title 'What would a restore do?'
show 'turnback plan --session demo --boundary message-1'
tb plan --session demo --boundary message-1

title 'Go back.'
show 'turnback restore --session demo --boundary message-1'
status=0
tb restore --session demo --boundary message-1 || status=$?
[ "$status" = 4 ] || { echo "demo: the restore ended with status $status; 4 was expected" >&2; exit 1; }

title 'What git says now: only the user'"'"'s own work and the file that was refused differ.'
show 'git status --short && git diff --stat'
git --no-pager status --short
git --no-pager diff --stat

check() { # WHAT TEST…
    what=$1
    shift
    if "$@"; then printf '  ok  %s\n' "$what"; else printf '  NO  %s\n' "$what" >&2; exit 1; fi
}
title 'Checked:'
check 'src/ledger.rs went back'                          cmp -s src/ledger.rs "$sources/guest/src/ledger.rs"
check 'src/ids.rs went back'                             cmp -s src/ids.rs "$sources/guest/src/ids.rs"
check 'notes.txt, never committed, was recreated'        grep -q '^ideas, not committed yet$' notes.txt
check 'gen/stamp.txt was deleted, and its folder'        test ! -e gen
check "src/plan.rs was refused: the user's fix is there" grep -q '// my own fix' src/plan.rs
check 'the index is as it was'                           git diff --cached --quiet

title 'The receipt, as a program reads it (a retry finds the same refusal):'
show 'turnback --json restore --session demo --boundary message-1'
tb --json restore --session demo --boundary message-1 || [ $? = 4 ]

show 'turnback drop --session demo'
tb drop --session demo
