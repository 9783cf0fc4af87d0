import os

# One thread per test process, before any numerical library loads.
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"
os.environ["LBBENCH_PROGRESS"] = "off"  # of slow machines' commands as well
