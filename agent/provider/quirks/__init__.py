"""What providers want otherwise than most, as one table (spec 5, R4 and R5).

``table`` says for whom each quirk holds; each is a small pure function of a request, or of the
body made of it, whose docstring tells the failure that it answers.
"""
