#!/usr/bin/env python3
"""Writes a small trace of LLM requests to standard output: one JSON object a line, in the form that was
published with the FAST'25 Mooncake paper. Conversations of several turns come and go; each turn repeats
the blocks of the turns before it, so that they can be fetched. The same seed gives the same trace."""

import argparse
import json
import random

TOKENS_PER_BLOCK = 512
SYSTEM_PROMPT_BLOCK = 0  # shared by all conversations
MOST_BLOCKS = 128  # of one request, about the longest of a real conversation service


class Conversation:
    """The blocks of the turns so far; each turn adds what was asked and answered."""

    def __init__(self, rng):
        self.rng = rng
        self.blocks = [SYSTEM_PROMPT_BLOCK]
        self.turns_left = 1 + min(9, int(rng.expovariate(1 / 3)))

    def next_turn(self, new_block):
        question_blocks = 1 + min(40, int(self.rng.lognormvariate(2.0, 0.9)))
        self.blocks += [new_block() for _ in range(question_blocks)]
        self.turns_left -= 1
        answer_tokens = 1 + min(2000, int(self.rng.expovariate(1 / 350)))
        request = {
            "input_length": len(self.blocks) * TOKENS_PER_BLOCK - self.rng.randrange(TOKENS_PER_BLOCK),
            "output_length": answer_tokens,
            "hash_ids": list(self.blocks),
        }
        self.blocks += [new_block() for _ in range(answer_tokens // TOKENS_PER_BLOCK)]
        return request

    def ended(self):
        return self.turns_left == 0 or len(self.blocks) >= MOST_BLOCKS - 45


def make_trace(seed, requests, per_second):
    """Yields the requests in order of arrival; arrivals are a Poisson process."""
    rng = random.Random(seed)
    ids = iter(range(1, 1 << 62))
    open_conversations = []
    now_ms = 0.0
    for _ in range(requests):
        if not open_conversations or rng.random() < 0.3:
            open_conversations.append(Conversation(rng))
        conversation = rng.choice(open_conversations)
        yield {"timestamp": int(now_ms)} | conversation.next_turn(lambda: next(ids))
        if conversation.ended():
            open_conversations.remove(conversation)
        now_ms += rng.expovariate(per_second) * 1000


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--requests", type=int, default=400)
    parser.add_argument("--per-second", type=float, default=4.0, help="mean rate of arrivals")
    arguments = parser.parse_args()
    for request in make_trace(arguments.seed, arguments.requests, arguments.per_second):
        print(json.dumps(request))


if __name__ == "__main__":
    main()
