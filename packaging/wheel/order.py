"""Reads a stream with `import millrace`, without PyTorch, and checks that its order is that of `millrace stream --last drop`."""
import json
import subprocess
import sys

import millrace

assert "numpy" not in sys.modules and "torch" not in sys.modules, "import millrace loaded NumPy or PyTorch"
spec = sys.argv[1]
rows = 0
with millrace.stream(spec, as_numpy=True) as stream:
    for batch in stream:
        rows += len(batch["liked"])
    order = stream.order_hash
told = json.loads(subprocess.run(["millrace", "stream", spec, "--last", "drop", "--json"], check=True,
                                 stdout=subprocess.PIPE).stdout)
assert order == told["order_hash"], f"import millrace read in the order {order}, millrace stream in {told['order_hash']}"
assert rows == told["rows_delivered"], f"import millrace read {rows} rows, millrace stream {told['rows_delivered']}"
print(f"{rows} rows in the order {order}")
