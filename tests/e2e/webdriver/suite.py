"""The suite by Debian's python3-selenium: arguments are the address, the CA file, and the capabilities as JSON."""
import json
import sys
import time

from selenium import webdriver
from selenium.common import exceptions
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.common.options import ArgOptions
from selenium.webdriver.remote.remote_connection import RemoteConnection

url, ca, capabilities = sys.argv[1:]


class Options(ArgOptions):
    @property
    def default_capabilities(self):
        return {}

    def to_capabilities(self):
        return self._caps


options = Options()
for name, value in json.loads(capabilities).items():
    options.set_capability(name, value)
if ca:
    RemoteConnection.set_certificate_bundle_path(ca)
driver = webdriver.Remote(command_executor=url, options=options)


def check(name, test):
    try:
        answer = test()
        ok = answer is None or bool(answer)
        print("ok" if ok else "not ok", name, "" if ok else repr(answer), flush=True)
    except Exception as error:
        print("not ok", name, type(error).__name__, str(error).split("\n")[0], flush=True)


def fails(error, work):
    try:
        work()
    except error:
        return True
    return False


def by(how, what):
    return driver.find_element(how, what)


def into_window():
    end = time.monotonic() + 20
    while time.monotonic() < end:
        for handle in driver.window_handles:
            driver.switch_to.window(handle)
            if driver.title == "Order 12":
                return True
        time.sleep(0.1)
    return False


def line(text):
    return by("-svc locator", text)


def typed(element, *keys):
    element.clear()
    element.send_keys(*keys)
    return element.text


def moved():
    driver.set_window_rect(40, 60, 520, 420)
    rect = driver.get_window_rect()
    return (rect["x"], rect["y"]) == (40, 60)


def clicked():
    city = line('textbox "City"')
    city.clear()
    ActionChains(driver).move_to_element(city).click().send_keys("Ulm").perform()
    end = time.monotonic() + 3
    while city.text != "Ulm" and time.monotonic() < end:
        time.sleep(0.02)
    return city.text == "Ulm"


def gone():
    stale = by(By.NAME, "Cancel")
    by(By.CSS_SELECTOR, 'button[name="OK"]').click()
    end = time.monotonic() + 5
    while time.monotonic() < end:
        try:
            stale.is_enabled()
        except exceptions.StaleElementReferenceException:
            return True
        time.sleep(0.05)
    return False


check("names its platform", lambda: driver.capabilities["platformName"] == "linux")
check("finds a window by its title", into_window)
check("lists windows", lambda: len(driver.window_handles) > 0)
check("knows its window", lambda: driver.current_window_handle in driver.window_handles)
check("finds a field by its label", lambda: by(By.NAME, "Customer").tag_name == "textbox")
check("finds by CSS", lambda: by(By.CSS_SELECTOR, 'dialog button[name^="O"]').accessible_name == "OK")
check("finds by XPath", lambda: len(driver.find_elements(By.XPATH, "//button")) == 2)
check("finds by XPath with a condition", lambda: by(By.XPATH, "//dialog//button[@name='OK']").is_enabled())
check("finds by the tag name", lambda: len(driver.find_elements(By.TAG_NAME, "button")) == 2)
check("finds by a locator of svc", lambda: line('button contains "Canc"').accessible_name == "Cancel")
check("finds in an element", lambda: len(by(By.XPATH, "//dialog").find_elements(By.XPATH, ".//button")) == 2)
check("says that there is no such element", lambda: fails(exceptions.NoSuchElementException, lambda: by(By.NAME, "No")))
check("says what is no selector", lambda: fails(exceptions.InvalidSelectorException, lambda: by(By.XPATH, "//[")))
check("finds several or none", lambda: driver.find_elements(By.NAME, "No") == [])
check("types", lambda: typed(by(By.NAME, "Customer"), "ACME Größe") == "ACME Größe")
check("presses keys", lambda: typed(by(By.NAME, "Customer"), Keys.SHIFT, "ab", Keys.NULL, "cd", Keys.BACKSPACE) == "ABc")
check("types at the end", lambda: typed(by(By.NAME, "Customer"), "AC") and (by(By.NAME, "Customer").send_keys("ME") or by(By.NAME, "Customer").text == "ACME"))
check("empties a field", lambda: by(By.NAME, "City").clear() or by(By.NAME, "City").text == "")
check("reads attributes", lambda: by(By.NAME, "Customer").get_attribute("value") == "ACME")
check("reads states", lambda: by(By.NAME, "Customer").is_displayed() and not by(By.NAME, "OK").is_selected())
check("knows the role", lambda: by(By.NAME, "OK").aria_role == "button")
check("knows places", lambda: by(By.NAME, "OK").rect["width"] > 10)
check("keeps passwords secret", lambda: typed(line('textbox "Pin"'), "hunter2") == "" and "hunter2" not in driver.page_source)
check("has the tree as XML", lambda: driver.page_source.startswith("<desktop>"))
check("has pictures of the screen", lambda: driver.get_screenshot_as_png()[1:4] == b"PNG")
check("has pictures of elements", lambda: by(By.NAME, "OK").screenshot_as_png[1:4] == b"PNG")
check("moves the window", moved)
check("acts with pointer and keys", clicked)
check("knows what has the focus", lambda: driver.switch_to.active_element.accessible_name == "City")
check("runs actions of svc", lambda: driver.execute_script("svc: run", [["AC_screen_size"]])["ok"])
check("goes to no address", lambda: fails(exceptions.WebDriverException, lambda: driver.get("http://127.0.0.1/")))
check("presses a button, and knows when it is gone", gone)
driver.quit()
check("ends", lambda: fails(exceptions.InvalidSessionIdException, lambda: driver.title))
