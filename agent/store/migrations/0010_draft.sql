-- Version 10. The comments of reviews that are not sent yet, by the folder or session whose changes
-- are reviewed and the title of the changes. They outlive the program.

CREATE TABLE review_draft (
    scope    TEXT NOT NULL,
    title    TEXT NOT NULL,
    comments TEXT NOT NULL,
    PRIMARY KEY (scope, title)
) WITHOUT ROWID;
