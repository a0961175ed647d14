# The house's own tests: the test runner, the installer, the students' folder.
SHELL_TESTS += tools/tests/test_run_tests.sh tools/tests/test_lab.sh
