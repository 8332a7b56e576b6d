"""A window of Qt 5 with many fields, in groups of twenty rows: `qt-form.py ROWS`. A press of the button of a row is printed."""

import sys

from PyQt5.QtWidgets import (
    QApplication,
    QCheckBox,
    QGridLayout,
    QGroupBox,
    QLabel,
    QLineEdit,
    QMainWindow,
    QPushButton,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

ROWS_IN_GROUP = 20

rows = int(sys.argv[1])
app = QApplication(sys.argv)
page = QWidget()
groups = QVBoxLayout(page)
for first in range(0, rows, ROWS_IN_GROUP):
    group = QGroupBox(f"Orders from {first}", page)
    grid = QGridLayout(group)
    for row in range(first, min(rows, first + ROWS_IN_GROUP)):
        field = QLineEdit(group)
        label = QLabel(f"Field {row}", group)
        label.setBuddy(field)
        button = QPushButton(f"Save {row}", group)
        button.clicked.connect(lambda _, row=row: print(f"saved {row}", flush=True))
        for column, widget in enumerate([label, field, QCheckBox(f"Paid {row}", group), button]):
            grid.addWidget(widget, row - first, column)
    groups.addWidget(group)
area = QScrollArea()
area.setWidget(page)
window = QMainWindow()
window.setWindowTitle("Orders")
window.setCentralWidget(area)
window.resize(700, 500)
window.show()
sys.exit(app.exec())
