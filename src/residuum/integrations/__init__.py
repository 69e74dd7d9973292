"""Rules in the training loops of other libraries, which are imported nowhere else.

`residuum.integrations.lightning` has a callback for Lightning, and
`residuum.integrations.hugging_face` a mixin for the `Trainer` of Hugging Face.
"""
