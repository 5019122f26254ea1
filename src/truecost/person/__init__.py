"""A person answers: questions and answers in one store, a server and its page, the seconds that an
answer took.

A run puts questions into a `Store`; `web.serve` shows them; the answers are read from the store::

    with Store("answers.sqlite") as store:
        store.put([Asked(key="a", kind="classes", payload={"ask": "Is it a seven?"})])
        page = serve("answers.sqlite", Settings(classes=("yes", "no")))
        print(page.links["me"])
"""
