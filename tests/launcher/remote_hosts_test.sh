#!/usr/bin/env bash
# Test of weirrun on real remote hosts: two network namespaces, each with a host name, a /dev/shm and an sshd of
# its own, and a third one where weirrun runs. A bridge joins them.
#
#   remote_hosts_test.sh WEIRRUN RANK_PROGRAM GOING_PROGRAM
#
# GOING_PROGRAM: doomed_rank, which runs for ever unless it is doomed.
#
# All of it, processes and files too, lives in namespaces of this script and ends with it. Exit code 77:
# skipped, with the reason; it needs root, sshd, ip, and a kernel that lets root make namespaces.
set -euo pipefail

readonly weirrun=$1 program=$2 going=$3
readonly net=10.77.13 port=2222 device=weir0

skip() {
  echo "SKIPPED: $*"
  exit 77
}

if [[ -z ${WEIR_TEST_INSIDE:-} ]]; then
  [[ $(id -u) == 0 ]] || skip "not root"
  for tool in sshd ssh ssh-keygen ip unshare; do
    PATH=$PATH:/usr/sbin:/sbin command -v "$tool" >/dev/null || skip "no $tool (scripts/packages.txt)"
  done
  separate=(unshare --net --uts --ipc --mount --pid --fork --kill-child --mount-proc)
  "${separate[@]}" true 2>/dev/null || skip "this kernel or container makes no namespaces"
  WEIR_TEST_INSIDE=yes exec "${separate[@]}" "$0" "$@"
fi

export PATH=$PATH:/usr/sbin:/sbin
unset WEIR_TEST_INSIDE

failures=0
fail() {
  echo "FAILED: $1"
  sed 's/^/    /' "$work/output"
  failures=$((failures + 1))
}

# Files that vanish with the mount namespace: /run for sshd and ip, /etc/ssh for the keys that ssh trusts.
mount -t tmpfs tmpfs /run
mount -t sysfs sysfs /sys
mount -t tmpfs tmpfs /etc/ssh
readonly work=/run/work
mkdir -p /run/sshd /run/netns "$work"
chmod 755 /run/sshd

ssh-keygen -q -t ed25519 -N '' -f "$work/user"
ssh-keygen -q -t ed25519 -N '' -f "$work/stranger"
cp "$work/user.pub" "$work/authorized_keys"

ip link set lo up
ip link add "$device" type bridge
ip addr add "$net.254/24" dev "$device"
ip link set "$device" up
hostname head

# An sshd's log says when it listens, so the test waits by reading it.
start_host() {
  local number=$1 name=node-$1
  ssh-keygen -q -t ed25519 -N '' -f "$work/$name"
  echo "[$net.$number]:$port $(cut -d' ' -f1-2 "$work/$name.pub")" >>/etc/ssh/ssh_known_hosts
  ip netns add "$name"
  ip link add "up$number" type veth peer name "$device" netns "$name"
  ip link set "up$number" master "$device" up
  ip -n "$name" link set lo up
  ip -n "$name" addr add "$net.$number/24" dev "$device"
  ip -n "$name" link set "$device" up
  cat >"$work/$name.conf" <<END
Port $port
HostKey $work/$name
AuthorizedKeysFile $work/authorized_keys
PidFile none
StrictModes no
UsePAM no
PasswordAuthentication no
PermitRootLogin prohibit-password
END
  mkfifo "$work/$name.log"
  # In new namespaces: another host name, and shared memory that the others do not see.
  # shellcheck disable=SC2016
  ip netns exec "$name" unshare --uts --ipc --mount sh -c '
    hostname "$1" && mount -t tmpfs tmpfs /dev/shm && exec "$2" -D -e -f "$3"' \
    sh "$name" "$(command -v sshd)" "$work/$name.conf" 2>"$work/$name.log" &
  local line
  exec {log}<"$work/$name.log"
  while read -r -t 20 line <&"$log"; do
    [[ $line == *"Server listening"* ]] && break
  done
  [[ $line == *"Server listening"* ]] || { echo "FAILED: sshd of $name: $line"; exit 1; }
  cat <&"$log" >>"$work/sshd.log" &
}
start_host 1
start_host 2

# Runs weirrun; leaves its output and exit code in $work/output and $code.
launch() {
  code=0
  timeout 120 "$weirrun" --network-interface "$device" --tcp "$@" >"$work/output" 2>&1 || code=$?
}
expect_code() { [[ $code == "$1" ]] || fail "exit code $code instead of $1"; }
expect() { grep -qE -- "$1" "$work/output" || fail "no line like: $1"; }
expect_not() { ! grep -qE -- "$1" "$work/output" || fail "a line like: $1"; }

hosts=$net.1:2,$net.2:1
reach=(-np 3 -H "$hosts" -p "$port" -i "$work/user")

echo "== ranks on two hosts sum over the network"
sent() { cat "/sys/class/net/up$1/statistics/rx_bytes"; }
before=$(sent 2)
launch "${reach[@]}" "$program"
expect_code 0
expect '^\[0\] rank 0 of 3 is 0 on node-1, sum 6$'
expect '^\[1\] rank 1 of 3 is 1 on node-1, sum 6$'
expect '^\[2\] rank 2 of 3 is 0 on node-2, sum 6$'
(($(sent 2) - before > 4000000)) || fail "only $(($(sent 2) - before)) bytes left node-2"

echo "== a hierarchical all-reduce sends half as much between hosts of two ranks"
pairs=(-np 4 -H "$net.1:2,$net.2:2" -p "$port" -i "$work/user")
before=$(sent 2)
launch "${pairs[@]}" "$program"
expect_code 0
flat=$(($(sent 2) - before))
before=$(sent 2)
launch "${pairs[@]}" --hierarchical-allreduce --log-level info "$program"
expect_code 0
expect 'hierarchical exchanges: ranks are 2 on each of 2 hosts'
expect '^\[3\] rank 3 of 4 is 1 on node-2, sum 10$'
hierarchical=$(($(sent 2) - before))
((hierarchical > 4000000 && 10 * hierarchical < 6 * flat)) ||
  fail "node-2 sent $hierarchical bytes, $flat with a flat one"

echo "== a death on another host is named with its host, and ends the job"
# shellcheck disable=SC2016
launch "${reach[@]}" sh -c '[ "$HOROVOD_RANK" = 2 ] && kill -9 $$; exec sleep 600'
expect_code 137
expect "^weirrun: rank 2 on $net.2: signal 9 \(Killed\); "

echo "== a request for flight recordings reaches the ranks of both hosts, and the job goes on"
mkfifo "$work/said"
: >"$work/output"
"$weirrun" --network-interface "$device" --tcp "${reach[@]}" --flight-recording "$work/asked.weirflight" \
  "$going" 0 dgc go-on >"$work/said" 2>&1 &
job=$!
exec {said}<"$work/said"
await() {
  local line
  while read -r -t 60 line <&"$said"; do
    echo "$line" >>"$work/output"
    [[ ! $line =~ $1 ]] || return 0
  done
  fail "no line like: $1"
}
await "goes on"
kill -USR1 "$job"
await "ranks 0-1 on $net.1, rank 2 on $net.2 write flight recordings"
for file in asked asked.rank1 asked.rank2; do
  for ((i = 0; i < 300; ++i)); do
    [[ ! -s $work/$file.weirflight ]] || break
    sleep 0.1
  done
  grep -qa '"event":"request".*"request":1' "$work/$file.weirflight" || fail "$file.weirflight says nothing of it"
done
kill -0 "$job" || fail "the job has ended"
kill -TERM "$job"
wait "$job" || true

echo "== the wrong port: the host and ssh's reason"
launch -np 3 -H "$hosts" -p 2299 -i "$work/user" "$program"
expect_code 1
expect "^weirrun: .*on $net.[12] did not start: ssh ended with exit code 255: .*Connection refused; ended"

echo "== a key that is not known there"
launch -np 3 -H "$hosts" -p "$port" -i "$work/stranger" "$program"
expect_code 1
expect "^weirrun: .*on $net.[12] did not start: ssh ended with exit code 255: .*Permission denied"

echo "== a host whose network is down is the one that is named"
ip link set up2 down
launch "${reach[@]}" --start-timeout 3 "$program"
ip link set up2 up
expect_code 1
expect "^weirrun: rank 2 on $net.2 did not start.*ssh ended with exit code 255: .*(timed out|No route)"
expect_not "^weirrun: rank.* on $net.1 did not"

echo "== a host that nobody has vouched for"
: >/etc/ssh/ssh_known_hosts
launch "${reach[@]}" "$program"
expect_code 1
expect "did not start: ssh ended with exit code 255: Host key verification failed"

if [[ $failures != 0 ]]; then
  cat "$work/sshd.log"
  exit 1
fi
echo "remote_hosts_test: all as expected"
