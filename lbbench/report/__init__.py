"""From traces to tables and figures."""
