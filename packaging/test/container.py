"""container.py IMAGE DATA [ARGUMENT…]: runs an unpacked image as a container engine would.

IMAGE is a folder with an OCI layout, DATA what lies at /data. The program gets the image's user, environment, folder and
command; its root can't be written to. It must be started in a mount namespace of its own, as unshare --mount does.
"""

import json
import os
import subprocess
import sys
import tarfile

image, data, arguments = sys.argv[1], sys.argv[2], sys.argv[3:]


def blob(descriptor):
    return os.path.join(image, "blobs", *descriptor["digest"].split(":"))


def read(path):
    with open(path) as f:
        return json.load(f)


manifest = read(blob(read(os.path.join(image, "index.json"))["manifests"][0]))
whole = read(blob(manifest["config"]))
config = whole["config"]
old = read(os.path.join(image, "manifest.json"))[0]
if os.path.join(image, old["Config"]) != blob(manifest["config"]):
    sys.exit("manifest.json and index.json name different images")

root = os.path.join(image, "root")
if not os.path.exists(root):
    os.mkdir(root)
    for layer in manifest["layers"]:
        with tarfile.open(blob(layer)) as files:
            files.extractall(root)

# Write access is for /data alone.
subprocess.run(["mount", "--bind", root, root], check=True)
subprocess.run(["mount", "-o", "remount,bind,ro", root], check=True)
subprocess.run(["mount", "--bind", data, os.path.join(root, "data")], check=True)

user, group = (int(n) for n in config["User"].split(":"))
os.chroot(root)
os.chdir(config["WorkingDir"])
os.setgroups([])
os.setgid(group)
os.setuid(user)
command = config["Entrypoint"] + (arguments or config["Cmd"])
os.execve(command[0], command, dict(e.split("=", 1) for e in config["Env"]))
