#!/bin/sh
# Makes the user of the service. The administrator starts the service itself.
set -e
if command -v systemd-sysusers >/dev/null; then
	systemd-sysusers ken.conf
elif ! getent passwd ken >/dev/null; then
	useradd --system --user-group --home-dir /var/lib/ken --no-create-home --shell /usr/sbin/nologin ken
fi
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload
	systemctl try-restart ken.service || true
fi
