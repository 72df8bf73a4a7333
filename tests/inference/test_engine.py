import subprocess
import sys

import pytest

ENGINE = "from scorebo.inference.engine import library; mine = library()"
# It announces the reorganisation of arviz on import, here as in any script.
NUTPIE = "import warnings; warnings.simplefilter('ignore', FutureWarning); import nutpie"


@pytest.mark.parametrize("order", [(ENGINE, NUTPIE), (NUTPIE, ENGINE)])
def test_nutpie_and_the_engine_share_one_extension(order):
    """A Rust extension is refused when it is loaded a second time in a process."""
    code = "; ".join([*order, "assert nutpie._lib is mine"])
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
