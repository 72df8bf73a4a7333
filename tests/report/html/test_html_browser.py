"""The page in a real browser without a network: what a reader with a mouse, a keyboard or a screen reader meets."""

from __future__ import annotations

import base64
import io
import shutil

import pytest
from PIL import Image
from selenium import webdriver
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

pytestmark = pytest.mark.browser
CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
if CHROMIUM is None or DRIVER is None:
    why = "Chromium and its driver are not installed (Debian's packages chromium and chromium-driver)"
    pytest.skip(why, allow_module_level=True)

FLAGS = (
    # As root Chromium has no sandbox; the rest keeps it from looking for its maker's servers.
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-dev-shm-usage"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync", "--window-size=1300,950"),
)
OFFLINE = {"offline": True, "latency": 0, "downloadThroughput": 0, "uploadThroughput": 0}


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    driver.execute_cdp_cmd("Network.enable", {})
    driver.execute_cdp_cmd("Network.emulateNetworkConditions", OFFLINE)
    driver.execute_cdp_cmd("Network.setBlockedURLs", {"urls": ["http://*", "https://*", "ws://*", "wss://*"]})
    yield driver
    driver.quit()


@pytest.fixture
def page(browser, report):
    """The report, just opened in a window of the usual size with a light page."""
    media(browser, "light")
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    browser.get(f"file://{report}")
    yield browser
    assert [entry["message"] for entry in browser.get_log("browser")] == []


@pytest.fixture
def few(browser, few_report):
    """A report on six chosen runs, each of which has a view."""
    media(browser, "light")
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    browser.get(f"file://{few_report}")
    yield browser
    assert [entry["message"] for entry in browser.get_log("browser")] == []


def media(browser, scheme):
    features = [
        {"name": "prefers-color-scheme", "value": scheme},
        {"name": "prefers-reduced-motion", "value": "reduce"},
    ]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})


def find(page, selector):
    return page.find_element(By.CSS_SELECTOR, selector)


def all_of(page, selector):
    return page.find_elements(By.CSS_SELECTOR, selector)


def show(page, figure):
    """Scroll to a figure and wait until it is drawn."""
    page.execute_script("document.getElementById(arguments[0]).scrollIntoView()", figure)
    WebDriverWait(page, 20).until(lambda _: all_of(page, f"#{figure} .panel svg"))
    return find(page, f"#{figure}")


def curves(article, expression):
    """An expression of `curves`, the first panel's, in one step: between two of them the page may draw them anew."""
    return article.parent.execute_script(
        "const lines = ':first-child g[aria-label=line]:not([aria-hidden]) path';"
        "const curves = [...arguments[0].querySelectorAll(`.panel${lines}`)];"
        f"return {expression}",
        article,
    )


def lines(article):
    return curves(article, "curves.length")


def first_curve(article):
    return curves(article, "curves[0].getAttribute('d')")


def last_stroke(article):
    """The color of the first panel's last curve, SCoreBO's, which is too dark for a dark page."""
    return curves(article, "curves.length ? getComputedStyle(curves.at(-1)).stroke : null")


def background(page, article):
    """The color on which the values at the pointer are written: the library's own white is unreadable in the dark."""
    return page.execute_script(
        "const probe = document.createElementNS('http://www.w3.org/2000/svg', 'rect');"
        "probe.style.fill = 'var(--plot-background)';"
        "arguments[0].querySelector('.panel svg').append(probe);"
        "const fill = getComputedStyle(probe).fill; probe.remove(); return fill",
        article,
    )


def column(page, table, number):
    return page.execute_script(
        "return [...arguments[0].tBodies[0].rows].map((row) => row.cells[arguments[1]].textContent.trim())",
        table,
        number,
    )


def test_opens_without_network_or_errors_and_draws_what_is_seen(page):
    assert page.title.startswith("scorebo")
    assert page.execute_script("return document.documentElement.dataset.ready") is not None
    assert page.execute_script("return performance.getEntriesByType('resource').length") == 0
    with pytest.raises(Exception, match=r"Failed to fetch|Content Security|NetworkError"):
        page.execute_script("return fetch('https://example.org')")
    page.get_log("browser")  # of the attempt, which the page's own policy refuses
    drawn = len(all_of(page, ".panel svg"))
    assert drawn < len(all_of(page, ".panel"))  # the rest when it comes near the window
    show(page, "bo-regret")
    assert len(all_of(page, ".panel svg")) > drawn


def test_methods_are_switched_in_the_legend(page):
    article = show(page, "al-mll")
    assert lines(article) == 3
    button = article.find_element(By.CSS_SELECTOR, 'button[data-method="sal_hr"]')
    button.click()
    assert button.get_attribute("aria-pressed") == "false"
    assert lines(article) == 2
    assert find(page, "#said").get_attribute("textContent") == "SAL-HR hidden."
    button.send_keys(Keys.ENTER)
    assert button.get_attribute("aria-pressed") == "true"
    assert lines(article) == 3
    label = article.find_element(By.CSS_SELECTOR, ".panel svg").get_attribute("aria-label")
    assert label.startswith("Gramacy (1D): Negative MLL against number of observations. Values at")
    assert "SAL-HR" in label


def test_log_and_linear(page):
    article = show(page, "bo-regret")
    unit = article.find_element(By.CSS_SELECTOR, ".panel .unit")
    before = first_curve(article)
    assert unit.text == "Log10 inference regret"
    linear = article.find_element(By.CSS_SELECTOR, '[data-scale="linear"]')
    linear.click()
    assert linear.get_attribute("aria-pressed") == "true"
    assert unit.text == "Inference regret (geometric mean)"
    assert first_curve(article) != before
    article.find_element(By.CSS_SELECTOR, '[data-scale="log"]').click()
    assert first_curve(article) == before


def test_hover_shows_values(page):
    article = show(page, "al-rmse")
    svg = article.find_element(By.CSS_SELECTOR, ".panel svg")
    curve = svg.find_elements(By.CSS_SELECTOR, 'g[aria-label="line"] path')[0]
    ActionChains(page).move_to_element(curve).move_by_offset(1, 1).perform()
    tip = WebDriverWait(page, 10).until(lambda _: svg.find_elements(By.CSS_SELECTOR, 'g[aria-label="tip"] text'))[0]
    words = tip.get_attribute("textContent")
    assert "Number of observations: " in words
    assert "RMSE: " in words
    assert "±" in words
    assert "3 runs" in words
    media(page, "dark")
    WebDriverWait(page, 10).until(lambda _: background(page, article) == "rgb(21, 24, 29)")  # the dark page's card
    media(page, "light")
    WebDriverWait(page, 10).until(lambda _: background(page, article) == "rgb(255, 255, 255)")


def test_tables_sort_by_mouse_and_keyboard(page):
    table = find(page, "#scorecard table")
    first = table.find_element(By.CSS_SELECTOR, "th")
    assert first.get_attribute("aria-sort") is None
    button = first.find_element(By.TAG_NAME, "button")
    button.click()
    assert first.get_attribute("aria-sort") == "ascending"
    found = column(page, table, 0)
    assert found == sorted(found, key=lambda name: int(name[1:]))
    button.send_keys(Keys.SPACE)
    assert first.get_attribute("aria-sort") == "descending"
    assert column(page, table, 0) == found[::-1]
    seeds = table.find_elements(By.CSS_SELECTOR, "thead button")[3]
    seeds.click()
    assert first.get_attribute("aria-sort") is None
    figures = find(page, "#figures > .scroll table")
    for _ in range(2):  # what is not a number stays last in both directions
        figures.find_elements(By.CSS_SELECTOR, "thead button")[3].click()
        assert column(page, figures, 3)[-1] == "–"
    health = find(page, "#health table")
    health.find_elements(By.CSS_SELECTOR, "thead button")[12].click()
    worst = [float(text) for text in column(page, health, 12)]
    assert worst == sorted(worst)


def test_the_slider_moves_a_line_and_tells_values(page):
    article = show(page, "ishigami-hyperparameters")
    slider = article.find_element(By.CSS_SELECTOR, "input[type=range]")
    highest = int(slider.get_attribute("max"))
    details = article.find_element(By.CSS_SELECTOR, "details.values")
    details.find_element(By.TAG_NAME, "summary").click()
    table = WebDriverWait(page, 10).until(lambda _: details.find_elements(By.TAG_NAME, "table"))[0]
    assert set(column(page, table, 2)) == {str(highest)}
    slider.send_keys(Keys.ARROW_LEFT, Keys.ARROW_LEFT)
    assert article.find_element(By.TAG_NAME, "output").text == str(highest - 2)
    assert slider.get_attribute("aria-valuetext") == f"{highest - 2} Number of observations"
    table = details.find_element(By.TAG_NAME, "table")
    assert set(column(page, table, 2)) == {str(highest - 2)}
    assert column(page, table, 5)[0] == "3"


def test_commands_are_copied(page):
    article = show(page, "priors")
    details = article.find_element(By.CSS_SELECTOR, "details.curves")
    details.find_element(By.TAG_NAME, "summary").click()
    WebDriverWait(page, 10).until(lambda _: details.find_elements(By.CSS_SELECTOR, ".copy"))
    page.execute_script("navigator.clipboard.writeText = async (text) => { window.copied = text; }")
    details.find_element(By.CSS_SELECTOR, ".copy").click()
    WebDriverWait(page, 10).until(lambda _: page.execute_script("return window.copied"))
    copied = page.execute_script("return window.copied")
    assert copied.startswith("scorebo sweep experiment=priors benchmark=gp8 model=")


def test_keyboard_finds_its_way(page):
    body = find(page, "body")
    body.send_keys(Keys.TAB)
    active = page.switch_to.active_element
    assert active.text == "Skip to the content"
    assert active.value_of_css_property("outline-style") != "none"
    active.send_keys(Keys.ENTER)
    assert page.switch_to.active_element.get_attribute("id") == "main"
    regions = all_of(page, ".scroll")
    assert regions
    assert all(region.get_attribute("tabindex") == "0" and region.get_attribute("aria-label") for region in regions)


@pytest.mark.parametrize("width", [1300, 390])
def test_links_lead_to_their_target_though_figures_are_drawn_on_the_way(page, width):
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    page.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    page.refresh()
    heights = "return [...document.querySelectorAll('article.figure')].map(e => e.getBoundingClientRect().height)"
    before = page.execute_script(heights)
    page.execute_script("location.hash = '#timings'")
    top = "return document.getElementById('timings').getBoundingClientRect().top"
    assert page.execute_script(top) == pytest.approx(16, abs=12)
    page.execute_script("dispatchEvent(new Event('beforeprint'))")  # draws all
    assert page.execute_script("return document.querySelectorAll('.panels .reserved').length") == 0
    assert page.execute_script(heights) == pytest.approx(before, abs=8)
    assert page.execute_script(top) == pytest.approx(16, abs=12)


def test_all_runs_are_listed_on_demand(page, results):
    details = find(page, "details.runs")
    assert not details.find_elements(By.TAG_NAME, "table")
    page.execute_script("arguments[0].open = true", details)
    WebDriverWait(page, 10).until(lambda _: details.find_elements(By.TAG_NAME, "table"))
    rows = len(details.find_elements(By.CSS_SELECTOR, "tbody tr"))
    assert rows == len(list(results.rglob("finished.json")))


def colors(page):
    """The number of different colors in what the window shows, roughly."""
    image = Image.open(io.BytesIO(page.get_screenshot_as_png())).convert("RGB").resize((200, 150))
    return image, len(image.getcolors(maxcolors=200 * 150))


def test_light_dark_and_narrow(page, tmp_path):
    article = show(page, "bo-regret")
    stroke = last_stroke(article)
    light, count = colors(page)
    assert count > 50
    assert light.getpixel((199, 149))[0] > 200
    page.save_screenshot(tmp_path / "light.png")
    media(page, "dark")
    WebDriverWait(page, 10).until(lambda _: last_stroke(article) not in (None, stroke))
    dark, count = colors(page)
    assert count > 50
    assert dark.getpixel((195, 149))[0] < 60
    page.save_screenshot(tmp_path / "dark.png")
    phone = {"width": 390, "height": 844, "deviceScaleFactor": 2, "mobile": True}
    page.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", phone)
    show(page, "bo-regret")
    assert page.execute_script("return document.documentElement.scrollWidth <= innerWidth")
    width = article.find_element(By.CSS_SELECTOR, ".panel").size["width"]
    assert 300 < width < 390  # one below the other
    page.save_screenshot(tmp_path / "narrow.png")


def test_prints_with_all_figures(page):
    printed = page.execute_cdp_cmd("Page.printToPDF", {"printBackground": True})
    assert len(all_of(page, ".panel svg")) == len(all_of(page, ".panel"))
    assert base64.b64decode(printed["data"]).startswith(b"%PDF")
    # What is wider than the paper makes the browser shrink all of it: A4 less its margins is 720 points of the screen.
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    paper = {"width": 720, "height": 1000, "deviceScaleFactor": 1, "mobile": False}
    page.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", paper)
    assert page.execute_script("return document.documentElement.scrollWidth") <= 720
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})


def test_the_first_screen_says_that_results_are_synthetic_and_shows_ranks(page):
    mark = find(page, ".mark.synthetic")
    assert mark.location["y"] + mark.size["height"] < 400
    assert "runs are invented, not computed." in mark.text
    assert page.title.endswith(" (synthetic results)")
    table = find(page, "#overview table")
    assert "al-mll" in column(page, table, 0)
    assert "not run" not in find(page, "#overview").text
    headings = [each.text for each in all_of(page, "main h2")]
    assert headings[:3] == ["Overview", "Figures", "Scorecard"]
    assert not [each for each in all_of(page, "article.missing") if each.is_displayed()]


def test_single_runs_stand_behind_the_means(page):
    article = show(page, "al-mll")
    behind = "return arguments[0].querySelectorAll('.panel:first-child g[stroke-opacity] path').length"
    assert page.execute_script(behind, article) == 9  # three methods, three seeds
    button = article.find_element(By.CSS_SELECTOR, "button.each")
    button.click()
    assert button.get_attribute("aria-pressed") == "false"
    assert page.execute_script(behind, article) == 0
    assert lines(article) == 3
    assert find(page, "#said").get_attribute("textContent") == "Single runs hidden."


def test_filters_work_on_figures_and_tables(page):
    article = show(page, "al-mll")
    rows = len([row for row in all_of(page, "#health tbody tr") if row.is_displayed()])
    find(page, ".filters summary").click()
    find(page, '.filters [data-axis="method"][data-name="sal_hr"]').click()
    assert lines(article) == 2
    left = [row.text for row in all_of(page, "#health tbody tr") if row.is_displayed()]
    assert 0 < len(left) < rows
    assert not [text for text in left if "SAL-HR" in text]
    find(page, '.filters [data-axis="task"][data-name="gramacy1"]').click()
    titles = [panel.text for panel in article.find_elements(By.CSS_SELECTOR, ".panel h4") if panel.is_displayed()]
    assert not [text for text in titles if text.startswith("Gramacy")]
    assert [text for text in titles if text.startswith("Higdon")]
    assert find(page, ".filters summary").text == "Filter the page (2 hidden)"
    find(page, ".filters details > .view").click()
    assert lines(article) == 3
    assert len([row for row in all_of(page, "#health tbody tr") if row.is_displayed()]) == rows


def test_paired_tests_are_beside_the_figure(page):
    article = show(page, "al-mll")
    assert article.find_element(By.CSS_SELECTOR, ".ranks").text.startswith("Ranks: ")
    details = article.find_element(By.CSS_SELECTOR, "details.tests")
    details.find_element(By.TAG_NAME, "summary").click()
    table = WebDriverWait(page, 10).until(lambda _: details.find_elements(By.TAG_NAME, "table"))[0]
    assert set(column(page, table, 0)) == {"Gramacy (1D)", "Higdon", "Ishigami", "All tasks"}
    assert "SAL-HR" in column(page, table, 2)
    p = table.find_elements(By.CSS_SELECTOR, "thead button")[7]
    assert p.text.startswith("p (Holm)")
    p.click()
    values = [float(text.lstrip("<")) for text in column(page, table, 7) if text != "–"]
    assert values == sorted(values)


def test_a_run_has_a_view(few):
    page = few
    assert not all_of(page, "#run-view article")
    button = all_of(page, "details.runs .view")[0]
    page.execute_script("arguments[0].scrollIntoView({block: 'center'})", button)
    button.click()
    view = WebDriverWait(page, 10).until(lambda _: all_of(page, "#run-view article"))[0]
    assert page.switch_to.active_element.get_attribute("id") == view.get_attribute("id")
    assert [each.text for each in view.find_elements(By.TAG_NAME, "h4")] == [
        *("Metrics and regret", "Queries", "Hyperparameters", "Diagnostics", "Ledger")
    ]
    panels = [each.text for each in view.find_elements(By.TAG_NAME, "h5")]
    assert {"Negative MLL", "RMSE", "Observation", "Input 1", "Lengthscale 1", "Noise variance", "R-hat"} <= set(panels)
    assert len(view.find_elements(By.CSS_SELECTOR, ".panel svg")) == len(panels)
    assert "scorebo replay" in view.text
    run = view.get_attribute("id")
    page.refresh()  # the address has the run
    view = WebDriverWait(page, 10).until(lambda _: all_of(page, "#run-view article"))[0]
    assert view.get_attribute("id") == run
    phone = {"width": 390, "height": 844, "deviceScaleFactor": 2, "mobile": True}
    page.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", phone)
    assert page.execute_script("return document.documentElement.scrollWidth <= innerWidth")


def test_drawings_are_arranged_as_in_the_file(page):
    article = show(page, "sal-example")
    tops = [round(panel.location["y"]) for panel in article.find_elements(By.CSS_SELECTOR, ".panel")]
    assert tops[0] == tops[2] == tops[4] == tops[6] < tops[1] == tops[3] == tops[5] == tops[7]
