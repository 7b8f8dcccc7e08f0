"""Five papers' tables, printed beside ours: printed numbers, judges, results, pages.

`papers` has what the papers print, `study` asks the judges of the catalogue, `training`
makes what the papers train on, `report` saves and shows, `runner` runs the notebooks.
It stands on `nlgeval_lib` and `judgecard`, which know nothing of it.
"""
