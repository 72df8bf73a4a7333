"""`python -m scorebo`."""

import sys

from scorebo.cli import main

sys.exit(main())
