#!/usr/bin/env bash
# PostgreSQL with pgvector for the second half of the tests.
#
#   scripts/postgres.sh install     the server (>= 15) and pgvector from Debian packages; quick when both are there
#   scripts/postgres.sh start DIR   a throw-away cluster in DIR; prints its admin URL, alone, on stdout
#   scripts/postgres.sh stop DIR    stops that cluster and removes what start made
#
# A throw-away cluster runs with fsync off: it must never hold data that anybody wants back.
set -euo pipefail

readonly MIN_MAJOR=15
# Debian 12 has no pgvector package, so its source package is taken from a newer suite. The stable one first, so that two
# runs build the same thing (0.8.0; the server's doctor warns below 0.8.4); sid where the stable one is gone or does not build.
readonly SOURCE_SUITES=(trixie sid)
readonly START_TRIES=10
# sun_path holds 107 bytes on Linux and 103 on macOS; "/.s.PGSQL.65535" takes 15 of them.
readonly MAX_SOCKET_DIR=88

say() { printf 'postgres.sh: %s\n' "$*" >&2; }
die() { say "$*"; exit 1; }

as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"; elif command -v sudo >/dev/null; then sudo "$@"; else die "installing packages needs root: run '$0 install' as root once"; fi
}

# A server refuses to run as root, so root hands the cluster to the package's own user.
as_server() {
  if [ "$(id -u)" = 0 ]; then (cd / && runuser -u postgres -- "$@"); else "$@"; fi
}

# The programs of the newest server on this machine that is new enough; nothing where there is none.
server_bin() {
  local dir best="" best_major=0 major
  for dir in /usr/lib/postgresql/*/bin "$(command -v pg_ctl >/dev/null && dirname "$(readlink -f "$(command -v pg_ctl)")" || true)"; do
    [ -n "$dir" ] && [ -x "$dir/initdb" ] && [ -x "$dir/postgres" ] || continue
    major=$("$dir/postgres" --version | sed -E 's/^[^0-9]*([0-9]+).*/\1/')
    if [ "$major" -ge "$MIN_MAJOR" ] && [ "$major" -gt "$best_major" ]; then best=$dir best_major=$major; fi
  done
  printf '%s' "$best"
}

major_of() { "$1/postgres" --version | sed -E 's/^[^0-9]*([0-9]+).*/\1/'; }

vector_control() {
  local bin=$1 dir
  for dir in "/usr/share/postgresql/$(major_of "$bin")" "$("$bin/pg_config" --sharedir 2>/dev/null || true)"; do
    if [ -n "$dir" ] && [ -f "$dir/extension/vector.control" ]; then printf '%s' "$dir/extension/vector.control"; return; fi
  done
}

apt_install() { as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "$@" >&2; }

# apt with a private source list and private indices: the machine's own package sources stay as they are.
private_apt() {
  local home=$1
  shift
  "$@" -o "Dir::Etc::SourceList=$home/sources.list" -o Dir::Etc::SourceParts=/dev/null -o "Dir::State::Lists=$home/lists" -o "Dir::Cache=$home/cache" -o APT::Sandbox::User=root
}

build_pgvector_from() {
  local suite=$1 bin=$2 home=$3 mirror keyring=/usr/share/keyrings/debian-archive-keyring.gpg signed=""
  mirror=$(apt-get indextargets --format '$(REPO_URI) $(LABEL)' 'Created-By: Packages' | awk '$2 == "Debian" { print $1; exit }')
  [ -n "$mirror" ] || die "no Debian mirror among this machine's package sources; install pgvector (>= 0.8) for PostgreSQL $(major_of "$bin") by hand"
  [ -f "$keyring" ] && signed="[signed-by=$keyring] "
  mkdir -p "$home/lists/partial" "$home/cache/archives/partial" "$home/src"
  printf 'deb-src %s%s %s main\n' "$signed" "$mirror" "$suite" >"$home/sources.list"
  # Each step is checked by hand: `set -e` is off inside a function that an `if` calls.
  private_apt "$home" apt-get -q update >&2 || return 1
  (cd "$home/src" && private_apt "$home" apt-get -q source pgvector >&2) || return 1
  # OPTFLAGS empty: the default -march=native breaks when this machine's disk moves to another processor.
  make -C "$home"/src/pgvector-*/ -j2 OPTFLAGS= "PG_CONFIG=$bin/pg_config" >"$home/make.log" 2>&1 || { tail -20 "$home/make.log" >&2; return 1; }
  as_root make -C "$home"/src/pgvector-*/ install OPTFLAGS= "PG_CONFIG=$bin/pg_config" >"$home/make.log" 2>&1 || { tail -20 "$home/make.log" >&2; return 1; }
}

install_all() {
  local bin major control suite home
  bin=$(server_bin)
  if [ -n "$bin" ]; then
    control=$(vector_control "$bin")
    if [ -n "$control" ]; then say "PostgreSQL $(major_of "$bin") with pgvector $(sed -n "s/^default_version = '\(.*\)'/\1/p" "$control") is here"; return; fi
  fi
  command -v apt-get >/dev/null || die "this script knows Debian's packages only; install PostgreSQL >= $MIN_MAJOR and pgvector >= 0.8 by hand"
  as_root apt-get -q update >&2
  if [ -z "$bin" ]; then
    apt_install postgresql
    bin=$(server_bin)
    [ -n "$bin" ] || die "Debian's 'postgresql' package brought no server >= $MIN_MAJOR"
  fi
  major=$(major_of "$bin")
  if apt-cache show "postgresql-$major-pgvector" >/dev/null 2>&1; then
    apt_install "postgresql-$major-pgvector"
  else
    apt_install "postgresql-server-dev-$major" build-essential dpkg-dev
    for suite in "${SOURCE_SUITES[@]}"; do
      home=$(mktemp -d)
      if build_pgvector_from "$suite" "$bin" "$home"; then rm -rf "$home"; break; fi
      say "pgvector of Debian $suite did not build here"
      rm -rf "$home"
    done
  fi
  [ -n "$(vector_control "$bin")" ] || die "pgvector did not arrive; see the lines above"
  say "PostgreSQL $major with pgvector is ready"
}

start() {
  local dir=$1 bin password port try
  bin=$(server_bin)
  [ -n "$bin" ] && [ -n "$(vector_control "$bin")" ] || die "no PostgreSQL >= $MIN_MAJOR with pgvector; run '$0 install' first"
  mkdir -p "$dir"
  dir=$(cd "$dir" && pwd -P)
  [ "${#dir}" -le "$MAX_SOCKET_DIR" ] || die "the path $dir is too long for a socket; use a shorter one"
  [ ! -e "$dir/data" ] || die "$dir/data is already there; run '$0 stop $dir' first"
  [ "$(id -u)" != 0 ] || chown postgres: "$dir"
  chmod 700 "$dir"
  password=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
  (umask 077 && printf '%s' "$password" >"$dir/password")
  [ "$(id -u)" != 0 ] || chown postgres: "$dir/password"
  as_server "$bin/initdb" -D "$dir/data" -U postgres --pwfile="$dir/password" --auth=scram-sha-256 --encoding=UTF8 --locale=C.UTF-8 --no-sync >"$dir/initdb.log" 2>&1 || {
    cat "$dir/initdb.log" >&2
    die "initdb failed"
  }
  for try in $(seq "$START_TRIES"); do
    # The server itself is the one who may say that a port is free: it fails on a taken one, and the next is tried.
    port=$((20000 + (RANDOM * 32768 + RANDOM) % 40000))
    if as_server "$bin/pg_ctl" -D "$dir/data" -l "$dir/server.log" -w -t 60 -s -o "-p $port -k '$dir' -c listen_addresses=127.0.0.1 -c max_connections=200 -c shared_buffers=128MB -c fsync=off -c full_page_writes=off -c timezone=UTC -c max_locks_per_transaction=256" start >/dev/null 2>&1; then
      printf 'postgres://postgres:%s@127.0.0.1:%s/postgres\n' "$password" "$port"
      return
    fi
    grep -q 'Address already in use' "$dir/server.log" || break
  done
  tail -20 "$dir/server.log" >&2
  die "the cluster in $dir did not start"
}

stop() {
  local dir=$1 bin
  bin=$(server_bin)
  [ -d "$dir/data" ] || { say "nothing runs in $dir"; return; }
  dir=$(cd "$dir" && pwd -P)
  if [ -f "$dir/data/postmaster.pid" ]; then as_server "$bin/pg_ctl" -D "$dir/data" -m fast -w -t 60 -s stop >&2 || say "the server in $dir was already gone"; fi
  rm -rf "$dir/data" "$dir/password" "$dir/initdb.log" "$dir/server.log"
}

case "${1:-install}" in
  install) install_all ;;
  start) start "${2:?usage: $0 start DIR}" ;;
  stop) stop "${2:?usage: $0 stop DIR}" ;;
  *) die "usage: $0 install | start DIR | stop DIR" ;;
esac
