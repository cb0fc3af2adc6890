#!/usr/bin/env python3
"""Mistakes in the use of Metal, planted one at a time (misuse.c): the simulator reports each of them."""
import os
import subprocess
import sys

from simulated import FOLDER, READY, settings
from support.tally import finish, skip

if not READY:
    skip("misuse of Metal", "clang 16 or newer is needed")
    finish()
sys.exit(subprocess.run([os.path.join(FOLDER, "misuse")], env=settings(), check=False).returncode)
