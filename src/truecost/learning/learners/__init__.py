"""Learners: who predicts and adapts, built by name.

>>> from truecost.learning.learners.building import build
>>> from truecost.learning.system import Task
>>> learner = build("logistic", Task("detection", ("0", "1"), options={"C": 0.5}))
>>> learner.name
'logistic'
"""
