# Sourced where uv reaches the network: certificates of the system, as pip takes them. uv's own list does not know those
# of a network that puts its own in between. A system without any is left with uv's list; a value that is set stays.
if [ -z "${UV_SYSTEM_CERTS:-}" ] && UV_SYSTEM_CERTS=1 "$uv" pip compile -q --offline - <<<"" >/dev/null 2>&1; then
    export UV_SYSTEM_CERTS=1
fi
