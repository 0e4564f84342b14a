#!/usr/bin/env python3
"""Companies that learn together which language model to send a prompt to, without showing a prompt to anyone.

    route.py PROGRAM [--prompts N] [--companies N] [--seed N]

PROGRAM is `cahoots`. Starts a coordinator and a client for every company on this machine, sends made-up prompts, and stops
everything. The same prompts are then sent through clients that exchange nothing. Ends with a table; exit code 1 if a reward
that was acknowledged is not merged.
"""
import argparse
import contextlib
import http.client
import json
import math
import pathlib
import random
import subprocess
import sys
import tempfile
import threading
import time

# What a prompt costs with each model, and how good answers are, by topic. Made up; nothing below looks at it but the world.
MODELS = {
    "small": {"cost": 0.02, "good": {"chat": 0.80, "summary": 0.70, "code": 0.25, "mathematics": 0.15, "law": 0.30}},
    "medium": {"cost": 0.10, "good": {"chat": 0.85, "summary": 0.85, "code": 0.55, "mathematics": 0.45, "law": 0.60}},
    "large": {"cost": 0.30, "good": {"chat": 0.90, "summary": 0.90, "code": 0.80, "mathematics": 0.85, "law": 0.90}},
    "coder": {"cost": 0.08, "good": {"chat": 0.50, "summary": 0.45, "code": 0.85, "mathematics": 0.60, "law": 0.20}},
}
TOPICS = ["chat", "summary", "code", "mathematics", "law"]
# What a router can see of a prompt without understanding it: signs of a topic, none of them sure.
SIGNS = {
    "code": ("braces", 0.85),
    "mathematics": ("formula", 0.80),
    "summary": ("long", 0.90),
    "law": ("paragraph sign", 0.70),
    "chat": ("short", 0.75),
}
FEATURES = ["always"] + [sign for sign, _ in SIGNS.values()]


class Prompts:
    """What one company asks: mostly of its own trade, now and then of the others'."""

    def __init__(self, company, companies, seed):
        self.random = random.Random(f"{seed}/{company}")
        trade = [TOPICS[(company + shift) % len(TOPICS)] for shift in range(0, len(TOPICS), max(1, companies))]
        self.weights = [0.7 / len(trade) if topic in trade else 0.3 / (len(TOPICS) - len(trade)) for topic in TOPICS]

    def next(self):
        """A prompt's features, and what each model would earn with it: quality less cost."""
        topic = self.random.choices(TOPICS, self.weights)[0]
        hard = self.random.gauss(0, 0.1)
        seen = [1.0]
        for of, (_, sure) in SIGNS.items():
            seen.append(1.0 if self.random.random() < (sure if of == topic else 0.08) else 0.0)
        earned, expected = {}, {}
        for name, model in MODELS.items():
            expected[name] = model["good"][topic] - model["cost"]
            quality = min(1.0, max(0.0, model["good"][topic] - hard + self.random.gauss(0, 0.1)))
            earned[name] = quality - model["cost"]
        return seen, earned, expected


def arms(seen):
    """A model's features: the prompt's, in the model's own block; of length 1 at most."""
    norm = math.sqrt(sum(x * x for x in seen))
    rows = []
    for at, name in enumerate(MODELS):
        row = [0.0] * (len(seen) * len(MODELS))
        row[at * len(seen):(at + 1) * len(seen)] = [x / norm for x in seen]
        rows.append({"id": name, "features": row})
    return rows


class Node:
    def __init__(self, program, command, file):
        self.process = subprocess.Popen([program, command, file], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        first = self.process.stdout.readline()
        if not first:
            raise SystemExit(f"{command} {file} did not start: run it by hand to see why")
        self.address = json.loads(first)["listening"]
        self.http = json.loads(first).get("http")

    def stop(self):
        self.process.terminate()
        self.process.wait()


class App:
    """What a company's application does: asks where to send a prompt, and tells what came of it."""

    def __init__(self, address):
        host, port = address.rsplit(":", 1)
        self.connection = http.client.HTTPConnection(host, int(port), timeout=30)

    def call(self, path, body=None):
        headers = {"content-type": "application/json"}
        self.connection.request("POST" if body is not None else "GET", path, json.dumps(body) if body is not None else None, headers)
        answer = self.connection.getresponse()
        text = answer.read()
        return answer.status, json.loads(text)

    def asked(self, path, body=None):
        status, answer = self.call(path, body)
        if status != 200:
            raise SystemExit(f"{path}: {status} {answer}")
        return answer


def wait_until(told):
    until = time.monotonic() + 60
    while not told():
        if time.monotonic() > until:
            raise SystemExit("a client did not get ready within a minute")
        time.sleep(0.05)


def federation(program, folder, kind, params, options):
    """All prompts of all companies, through one federation; gives what each earned, and what was sent and merged."""
    width = len(FEATURES) * len(MODELS)
    serve = folder / f"{kind}.toml"
    serve.write_text(
        f'federation = "router"\nlisten = "127.0.0.1:0"\nhttp = "127.0.0.1:0"\nstore = "{kind}.store"\n'
        f"[setting]\nusers = {options.companies}\ndim = {width}\narms = {len(MODELS)}\nreward_noise = 0.15\n"
        f'context_norm = 1.0\nreward_range = [-1.0, 1.0]\n[algorithm]\nkind = "{kind}"\nradius = {{ fixed = 0.3 }}\n{params}'
    )
    results = [None] * options.companies
    with contextlib.ExitStack() as stack:
        coordinator = Node(program, "serve", str(serve))
        stack.callback(coordinator.stop)
        clients = []
        for company in range(options.companies):
            file = folder / f"{kind}-{company}.toml"
            file.write_text(
                f'federation = "router"\ncoordinator = "http://{coordinator.address}"\nclient = {company}\n'
                f'store = "{kind}-{company}.store"\nhttp = "127.0.0.1:0"\ndrain = 10\n'
            )
            clients.append(Node(program, "client", str(file)))
            stack.callback(clients[-1].stop)

        def company(number):
            app, prompts = App(clients[number].address), Prompts(number, options.companies, options.seed)
            wait_until(lambda: app.asked("/status")["joined"])
            mine = {"earned": 0.0, "best": 0.0, "large": 0.0, "acknowledged": 0}
            for _ in range(options.prompts):
                seen, earned, expected = prompts.next()
                decision = app.asked("/decide", {"arms": arms(seen)})
                app.asked("/reward", {"id": decision["id"], "reward": earned[decision["arm"]]})
                mine["earned"] += expected[decision["arm"]]
                mine["best"] += max(expected.values())
                mine["large"] += expected["large"]
                mine["acknowledged"] += 1
            mine["gain"] = app.asked("/gain")["words"]
            results[number] = mine

        threads = [threading.Thread(target=company, args=[number]) for number in range(options.companies)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if None in results:
            raise SystemExit("a company did not get through: see above")
        for client in clients:
            client.stop()
        status = App(coordinator.http).asked("/status")
    return results, status


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", help="cahoots")
    parser.add_argument("--prompts", type=int, default=400, help="of each company (400)")
    parser.add_argument("--companies", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    program = str(pathlib.Path(options.program).resolve())
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        together, status = federation(program, folder, "async-linucb", "ratio = 1.2\n", options)
        alone, _ = federation(program, folder, "linucb-alone", "", options)
    print(f"quality less cost, per prompt, {options.prompts} prompts a company (expectations, without luck)\n")
    print(f"{'company':<10}{'always large':>14}{'alone':>10}{'together':>10}{'best possible':>15}")
    total = [0.0] * 4
    for number, (own, shared) in enumerate(zip(alone, together)):
        cells = [value / options.prompts for value in (own["large"], own["earned"], shared["earned"], own["best"])]
        total = [sum + cell for sum, cell in zip(total, cells)]
        print(f"{number:<10}{cells[0]:>14.3f}{cells[1]:>10.3f}{cells[2]:>10.3f}{cells[3]:>15.3f}")
    cells = [sum / options.companies for sum in total]
    print(f"{'all':<10}{cells[0]:>14.3f}{cells[1]:>10.3f}{cells[2]:>10.3f}{cells[3]:>15.3f}\n")
    for number, shared in enumerate(together):
        print(f"company {number}: {shared['gain']}")
    acknowledged = sum(shared["acknowledged"] for shared in together)
    merged = status["observations"]
    print(f"\nrewards acknowledged: {acknowledged}, merged: {merged}; prompts sent to anyone: none")
    print(f"bytes of statistics, both ways: {status['bytes_received'] + status['bytes_sent']:,}")
    if merged != acknowledged:
        sys.exit(1)


main()
