import java.awt.GridLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import javax.swing.*;
import javax.swing.table.DefaultTableModel;

/** Windows named Orders (Swing): arguments are the files that they save to, one window each. */
public class Orders {
  public static void main(String[] files) {
    SwingUtilities.invokeLater(() -> {
      for (int nth = 0; nth < files.length; nth++) open(files[nth], nth);
    });
  }

  static void open(String file, int nth) {
    JFrame frame = new JFrame("Orders");
    JTextField customer = new JTextField(20);
    JCheckBox paid = new JCheckBox("Paid");
    JComboBox<String> shipping = new JComboBox<>(new String[] {"Post", "Courier", "Pickup"});
    DefaultTableModel model = new DefaultTableModel(
        new Object[][] {{"Alpha", "10"}, {"Beta", "20"}, {"Gamma", "30"}}, new Object[] {"Name", "Amount"});
    JTable table = new JTable(model);
    table.getAccessibleContext().setAccessibleName("Items");
    JButton save = new JButton("Save");
    save.addActionListener(event -> {
      if (table.isEditing()) table.getCellEditor().stopCellEditing();
      StringBuilder text = new StringBuilder();
      text.append(customer.getText()).append(',').append(paid.isSelected()).append(',').append(shipping.getSelectedItem());
      for (int row = 0; row < model.getRowCount(); row++)
        text.append('\n').append(model.getValueAt(row, 0)).append('=').append(model.getValueAt(row, 1));
      try {
        Files.writeString(Path.of(file), text.append('\n').toString());
      } catch (java.io.IOException error) {
        throw new java.io.UncheckedIOException(error);
      }
    });
    JPanel panel = new JPanel(new GridLayout(0, 2));
    JLabel customerLabel = new JLabel("Customer");
    customerLabel.setLabelFor(customer);
    JLabel shippingLabel = new JLabel("Shipping");
    shippingLabel.setLabelFor(shipping);
    panel.add(customerLabel);
    panel.add(customer);
    panel.add(paid);
    panel.add(new JLabel(""));
    panel.add(shippingLabel);
    panel.add(shipping);
    panel.add(new JScrollPane(table));
    panel.add(save);
    frame.add(panel);
    frame.setDefaultCloseOperation(JFrame.EXIT_ON_CLOSE);
    frame.setSize(500, 320);
    frame.setLocation(60 + 520 * nth, 80);
    frame.setVisible(true);
  }
}
