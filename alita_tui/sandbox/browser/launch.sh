#!/bin/sh
# Starts Chromium in a container: what is asked for comes first, so that what has to hold comes last and wins.
# Without a sandbox of its own, which would need the namespaces that the container refuses.
for program in /usr/lib/chromium/chromium /usr/lib/chromium/chromium-headless-shell; do
    [ -x "$program" ] && break
done
export HOME=/tmp/tool XDG_CONFIG_HOME=/tmp/tool/browser XDG_CACHE_HOME=/tmp/tool/browser TMPDIR=/tmp
# Tests have servers of their own on the loopback; else all goes to the broker, what pages ask of the loopback too.
bypass="<-loopback>"
[ -n "$no_proxy" ] && bypass="127.0.0.1;localhost"
exec python3 -I -S /usr/bin/alita-page-log "$program" "$@" \
    --no-sandbox --no-zygote --disable-dev-shm-usage --disable-gpu \
    --proxy-server="${http_proxy:-http://127.0.0.1:9}" --proxy-bypass-list="$bypass" \
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1 , EXCLUDE localhost" \
    --ignore-certificate-errors-spki-list="$ALITA_BROWSER_TRUST" \
    --force-webrtc-ip-handling-policy=disable_non_proxied_udp --disable-quic --dns-prefetch-disable --no-pings \
    --disable-background-networking --disable-component-update --disable-extensions --disable-sync \
    --disable-breakpad --disable-crash-reporter --no-first-run --mute-audio --renderer-process-limit=4
