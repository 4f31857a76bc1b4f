#!/bin/sh
# Stops the service when the package goes, and not when a newer one comes. What it knows stays in /var/lib/ken.
set -e
case "$1" in
remove | 0)
	if [ -d /run/systemd/system ]; then
		systemctl disable --now ken.service || true
	fi
	;;
esac
