"""Words for relatives."""

from memory_butler.english.text.word_sets import word_set

CHILDREN = word_set("""
son sons daughter daughters child children kid kids baby babies toddler toddlers twins boys girls grandson granddaughter
grandchild grandchildren grandkids stepson stepdaughter stepchild godson goddaughter foster nephew niece
""")
ADULT_RELATIVES = word_set("""
wife husband spouse partner girlfriend boyfriend fiance fiancee fiancé fiancée mother father mom mum mama dad papa
parent parents sister brother sibling siblings aunt uncle cousin grandma grandpa grandmother grandfather granny
stepmother stepfather in-laws mother-in-law father-in-law sister-in-law brother-in-law
""")
