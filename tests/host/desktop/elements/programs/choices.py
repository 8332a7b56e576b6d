"""A window of Qt 5 with a combo box, a password, a tree and many fields in what scrolls. What is chosen, given and pressed is printed."""

import sys

from PyQt5.QtWidgets import (
    QApplication,
    QComboBox,
    QFormLayout,
    QLineEdit,
    QMainWindow,
    QPushButton,
    QScrollArea,
    QTreeWidget,
    QTreeWidgetItem,
    QWidget,
)

app = QApplication(sys.argv)
page = QWidget()
form = QFormLayout(page)
combo = QComboBox()
combo.addItems(["Post", "Courier", "Pickup"])
combo.currentTextChanged.connect(lambda text: print(f"chosen {text}", flush=True))
form.addRow("Shipping", combo)
pin = QLineEdit()
pin.setEchoMode(QLineEdit.Password)
pin.textChanged.connect(lambda text: print(f"pin {text}", flush=True))
form.addRow("PIN", pin)
tree = QTreeWidget()
tree.setHeaderLabel("Places")
tree.setMaximumHeight(120)
for name in ["Europe", "Asia"]:
    item = QTreeWidgetItem(tree, [name])
    QTreeWidgetItem(item, [f"{name} north"])
form.addRow("Places", tree)
for row in range(40):
    form.addRow(f"Field {row}", QLineEdit())
button = QPushButton("Save at the end")
button.clicked.connect(lambda: print("saved", flush=True))
form.addRow("", button)
area = QScrollArea()
area.setWidgetResizable(True)
area.setWidget(page)
window = QMainWindow()
window.setWindowTitle("Choices")
window.setCentralWidget(area)
window.resize(500, 400)
window.show()
sys.exit(app.exec())
