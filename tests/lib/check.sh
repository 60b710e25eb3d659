# SPDX-FileCopyrightText: The Keelson Authors
# SPDX-License-Identifier: Apache-2.0
#
# For integration tests in shell: . "$(dirname "$0")/../lib/check.sh"; start_server; check "NAME" command ...
# Each check prints "ok NAME" or "not ok NAME" with the command's output; the log is shown at the end when one failed.
# shellcheck shell=bash
set -u
source_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
test_dir=$(mktemp -d "${TMPDIR:-/tmp}/keelson-test-XXXXXX")
failed=0
PATH=${KS_TOOLS:-$source_dir/build/tools}/bin:$PATH
export HOME=$test_dir

# start_server [quickstart's options]: a free port, or the one that it had before.
start_server() {
	quickstart --detach --port "${port:-0}" "$@" >"$test_dir/start.log" 2>&1 || { cat "$test_dir/start.log" && exit 1; }
	export KUBECONFIG=$test_dir/state/admin.kubeconfig
	port=$(sed -n 's/^ *server: .*:\([0-9]*\)$/\1/p' "$KUBECONFIG")
	server=https://127.0.0.1:$port
	token=$(cat "$test_dir/state/admin.token")
}

stop_server() {
	quickstart --stop >/dev/null
}

server_pid() {
	cat "$test_dir/state/keelson.pid"
}

finish() {
	stop_server
	if [ "$failed" != 0 ]; then
		echo "the server's log (its end):"
		tail -40 "$test_dir/state/keelson.log" 2>/dev/null | sed 's/^/  /'
	fi
	rm -rf "$test_dir"
	exit "$((failed > 0))"
}
trap finish EXIT

# check NAME COMMAND...: it must succeed.
check() {
	local name=$1 out
	shift
	if out=$(timeout "${CHECK_SECONDS:-60}" "$@" 2>&1); then
		echo "ok $name"
	else
		echo "not ok $name"
		echo "  $*"
		printf '%s\n' "$out" | head -30 | sed 's/^/  /'
		failed=$((failed + 1))
	fi
}

# check_says NAME PATTERN COMMAND...: it must succeed and print something that matches (extended regular expression).
check_says() {
	local name=$1 pattern=$2
	shift 2
	check "$name" says "$pattern" 0 "$@"
}

# check_refused NAME PATTERN COMMAND...: it must fail and say why.
check_refused() {
	local name=$1 pattern=$2
	shift 2
	check "$name" says "$pattern" 1 "$@"
}

# eventually NAME SECONDS COMMAND...: it must succeed within that time.
eventually() {
	local name=$1 seconds=$2
	shift 2
	CHECK_SECONDS=$((seconds + 5)) check "$name" bash -c 'end=$((SECONDS + $1)); shift; until "$@"; do [ $SECONDS -lt $end ] || exit 1; sleep 0.05; done' - "$seconds" "$@"
}

# Programs, so that checks can call them: quickstart [OPTIONS], says PATTERN FAILS COMMAND...
mkdir -p "$test_dir/bin"
cat >"$test_dir/bin/quickstart" <<EOF
#!/bin/sh
exec "$source_dir/etc/quickstart" --state "$test_dir/state" "\$@"
EOF
cat >"$test_dir/bin/says" <<'EOF'
#!/bin/bash
# says PATTERN FAILS COMMAND...
pattern=$1 fails=$2
shift 2
out=$("$@" 2>&1)
status=$?
printf '%s\n' "$out"
[ "$((status != 0))" = "$fails" ] || { echo "(exit status $status)" && exit 1; }
grep -Eq -- "$pattern" <<<"$out" || { echo "(nothing matches $pattern)" && exit 1; }
EOF
chmod +x "$test_dir"/bin/*
PATH=$test_dir/bin:$PATH
