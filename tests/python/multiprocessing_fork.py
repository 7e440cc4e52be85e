"""What test.test_multiprocessing_fork is, for interpreters that were installed without it (some releases left it out)."""
import unittest
from test._test_multiprocessing import install_tests_in_module_dict

install_tests_in_module_dict(globals(), "fork")

if __name__ == "__main__":
    unittest.main()
