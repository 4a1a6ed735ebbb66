"""The lifecycle rules of the default settings, for tests of policy and sweep."""

from memory_butler.models import Permanence
from memory_butler.policy.lifecycle.confidence import fact_rate
from memory_butler.settings import Lifecycle

DECAY = Lifecycle().decay
MATURITY = Lifecycle().maturity
RATES = {kind: fact_rate(kind, DECAY) for kind in Permanence}
