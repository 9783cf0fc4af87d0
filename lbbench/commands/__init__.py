"""What the command line's commands do: parse, call, print."""

COMMANDS = {  # by their names, where each is found
    "run": "lbbench.commands.studies:run",
    "ablate": "lbbench.commands.studies:ablate",
    "status": "lbbench.commands.studies:status",
    "worker-plan": "lbbench.commands.studies:worker_plan",
    "plot": "lbbench.commands.results:plot",
    "table": "lbbench.commands.results:table",
    "export": "lbbench.commands.results:export",
    "report": "lbbench.commands.results:report",
    "findings": "lbbench.commands.results:findings",
    "ask": "lbbench.commands.experiments:ask",
    "tell": "lbbench.commands.experiments:tell",
    "list": "lbbench.commands.catalogue:list_",
    "show": "lbbench.commands.catalogue:show",
    "check": "lbbench.commands.catalogue:check",
    "doctor": "lbbench.commands.catalogue:doctor",
    "completion": "lbbench.commands.catalogue:completion",
}
