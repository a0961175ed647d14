"""What pyproject.toml cannot say: the libraries that `make pytorch` has built travel with the package, in course_kernels/lib."""

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

BUILT = Path(__file__).resolve().parents[2] / "build" / "pytorch"


class WithLibraries(build_py):
    def run(self):
        super().run()
        folder = Path(self.build_lib) / "course_kernels" / "lib"
        folder.mkdir(parents=True, exist_ok=True)
        for library in BUILT.glob("libcourse_kernels_*.so"):
            shutil.copy2(library, folder)


SCRATCH = BUILT / "wheel"  # all build output goes to build/
SCRATCH.mkdir(parents=True, exist_ok=True)
setup(
    cmdclass={"build_py": WithLibraries},
    options={"build": {"build_base": str(SCRATCH)}, "egg_info": {"egg_base": str(SCRATCH)}},
)
