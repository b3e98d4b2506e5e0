// Draws the plots of a report from the data in the page, with Observable Plot (`Plot`).
"use strict";

(() => {
  const HEIGHT = 320;
  const ROWS_MAX = 1000;
  const OTHERS = 6;

  // ---- Numbers as text ----------------------------------------------------------------------

  const digits = (value) => {
    const text = Math.abs(value) >= 100 ? value.toFixed(0) : value.toPrecision(3);
    return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
  };
  const scaled = (value, steps) => {
    const step = steps.find(([size]) => Math.abs(value) >= size * 0.9995) ?? steps[steps.length - 1];
    return `${digits(value / step[0])}${step[1]}`;
  };
  const FORMATS = {
    nanoseconds: (v) =>
      v === 0 ? "0" : scaled(v, [[1e9, " s"], [1e6, " ms"], [1e3, " µs"], [1, " ns"]]),
    seconds: (v) => `${digits(v)} s`,
    per_second: (v) => (v === 0 ? "0" : scaled(v, [[1e6, "M/s"], [1e3, "k/s"], [1, "/s"]])),
    bytes: (v) => (v === 0 ? "0" : scaled(v, [[1e9, " GB"], [1e6, " MB"], [1e3, " kB"], [1, " B"]])),
    date: (v) => new Date(1e3 * v).toISOString().slice(0, 16).replace("T", " "),
    percent: (v) => `${digits(100 * v)}%`,
    share: (v) => `${v > 0 ? "+" : v < 0 ? "−" : ""}${digits(Math.abs(100 * v))}%`,
    number: (v) => (v === 0 ? "0" : scaled(v, [[1e9, "G"], [1e6, "M"], [1e3, "k"], [1, ""]])),
    // 1 / (1 - P): as many nines as the number has zeros.
    nines: (v) => `p${+(100 - 100 / v).toPrecision(9)}`,
    name: (v) => v,
  };
  const COLUMN_UNITS = { nanoseconds: " (ns)", seconds: " (s)", per_second: " (1/s)", bytes: " (B)" };

  // ---- Marks --------------------------------------------------------------------------------

  const colour = (role) => {
    if (typeof role === "object") return `var(--other-${role.other % OTHERS})`;
    return `var(--${role.replace("_at_least", "")})`;
  };
  const dashes = (role) => {
    if (role === "reference") return "5 4";
    return String(role).endsWith("_at_least") ? "2 3" : null;
  };
  // Stages differ from what is not measured.
  const shade = (mark) => (mark.is_measured ? "var(--stage)" : "var(--span)");
  const points = (mark) => mark.x.map((x, i) => ({ x, y: mark.y[i] }));
  const lines = (spec) => spec.marks.filter((mark) => mark.kind === "line");
  const NINES = [1, 2, 10, 100, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9];

  function heat(mark) {
    const most = Math.max(...mark.cells.map((cell) => cell[2]));
    const cells = mark.cells.map(([column, row, count]) => ({
      x1: mark.x[column], x2: mark.x[column + 1], y1: mark.y[row], y2: mark.y[row + 1], count,
      shade: 0.12 + 0.88 * (most > 1 ? Math.log(count) / Math.log(most) : 1),
    }));
    return Plot.rect(cells, {
      x1: "x1", x2: "x2", y1: "y1", y2: "y2", fill: "var(--heat)", fillOpacity: "shade", inset: 0,
    });
  }

  function drawn(mark) {
    switch (mark.kind) {
      case "line": {
        const stroke = colour(mark.role);
        const strokeDasharray = dashes(mark.role);
        return Plot.line(points(mark), { x: "x", y: "y", stroke, strokeDasharray, strokeWidth: 2 });
      }
      case "band": {
        const data = mark.x.map((x, i) => ({ x, low: mark.low[i], high: mark.high[i] }));
        const known = data.filter((point) => point.high !== null);
        const fill = colour(mark.role);
        return Plot.areaY(known, { x: "x", y1: "low", y2: "high", fill, fillOpacity: 0.2 });
      }
      case "dots":
        return Plot.dot(points(mark), { x: "x", y: "y", fill: colour(mark.role), r: 4 });
      case "ranges": {
        const data = mark.x.map((x, i) => ({ x, low: mark.low[i], high: mark.high[i] }));
        const stroke = colour(mark.role);
        return Plot.ruleX(data, { x: "x", y1: "low", y2: "high", stroke, strokeOpacity: 0.5, strokeWidth: 3 });
      }
      case "heat":
        return heat(mark);
      case "events":
        return Plot.dot(mark.x.map((x) => ({ x })), {
          x: "x", frameAnchor: "top", symbol: "triangle", rotate: 180, fill: "var(--bad)", r: 4,
        });
      case "span":
        return Plot.rect([mark], { x1: "from", x2: "to", fill: shade(mark), fillOpacity: mark.is_measured ? 0.12 : 0.35 });
      default:
        return null;
    }
  }

  // Bars of all marks at once, so that they are stacked.
  function bars(spec) {
    const parts = spec.marks.filter((mark) => mark.kind === "bar");
    const data = parts.flatMap((mark) =>
      mark.y.map((y, i) => ({ y, x: mark.x[i], fill: colour(mark.role) })));
    if (data.length === 0) return [];
    return [Plot.barX(data, { x: "x", y: "y", fill: "fill", insetTop: 3, insetBottom: 3 })];
  }

  // The point at the pointer, with its name.
  function pointTip(spec, marks) {
    const data = marks.flatMap((mark) => mark.x.map((x, i) => ({ x, y: mark.y[i], label: mark.labels[i] })));
    const text = (point) => `${point.label}\n${FORMATS[spec.y.unit](point.y)}`;
    return [Plot.tip(data, Plot.pointerX({
      x: "x", y: "y", title: text, fill: "var(--page)", stroke: "var(--rule)", fontSize: 12,
    }))];
  }

  // Values of all lines at the pointer.
  function tip(spec) {
    const named = spec.marks.filter((mark) => mark.labels);
    if (named.length > 0) return pointTip(spec, named);
    const [main] = lines(spec).slice(-1);
    if (!main) return [];
    const at = (mark, x) => {
      let best = 0;
      mark.x.forEach((other, i) => {
        if (Math.abs(other - x) < Math.abs(mark.x[best] - x)) best = i;
      });
      return mark.y[best];
    };
    const text = (x) => {
      const values = lines(spec).map((mark) => {
        const value = at(mark, x);
        return `${mark.name}: ${value === null ? "–" : FORMATS[spec.y.unit](value)}`;
      });
      return [FORMATS[spec.x.unit](x), ...values].join("\n");
    };
    const data = points(main).filter((point) => point.y !== null);
    return [
      Plot.ruleX(data, Plot.pointerX({ x: "x", stroke: "var(--text)", strokeOpacity: 0.4 })),
      Plot.tip(data, Plot.pointerX({
        x: "x", y: "y", title: (point) => text(point.x), fill: "var(--page)",
        stroke: "var(--rule)", fontSize: 12,
      })),
    ];
  }

  // ---- A plot -------------------------------------------------------------------------------

  function ends(spec, of) {
    const all = spec.marks.flatMap(of).filter((value) => value !== null && value !== undefined);
    return [Math.min(...all), Math.max(...all)];
  }

  // A logarithmic axis. Plot leaves out tick labels of its own, so it gets logarithms.
  function logarithmic(label, format, ticks, domain) {
    return {
      label, grid: true, labelArrow: "none", transform: Math.log10, domain: domain.map(Math.log10),
      ticks: ticks.map(Math.log10), tickFormat: (power) => format(10 ** power),
    };
  }

  // Some five round values between two, `least` apart or more.
  function even(low, high, least = 0) {
    const rough = Math.max(high - low, high / 100, 5 * least) / 5;
    const unit = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((digit) => digit * unit).find((step) => step >= rough);
    const first = Math.ceil(low / step);
    const count = Math.floor(high / step) - first + 1;
    return Array.from({ length: Math.max(count, 0) }, (_, i) => (first + i) * step);
  }

  function axisX(spec, width) {
    const { title: label, unit } = spec.x;
    if (unit === "nines") {
      const [, last] = ends(spec, (mark) => mark.x ?? []);
      return logarithmic(label, FORMATS.nines, NINES.filter((x) => x <= last), [1, last]);
    }
    // Of three wanted labels only one may be left.
    const ticks = Math.max(4, Math.floor(width / 90));
    if (unit === "date") {
      const transform = (seconds) => new Date(1e3 * seconds);
      // Tick labels have two lines, below which there is no room.
      return { label: null, type: "utc", transform, ticks };
    }
    if (spec.x.scale === "log") {
      const all = [...new Set(spec.marks.flatMap((mark) => mark.x))].sort((a, b) => a - b);
      return logarithmic(label, FORMATS[unit], all, [all[0], all[all.length - 1]]);
    }
    const grid = spec.y.scale === "names";
    const places = spec.marks.flatMap((mark) => mark.x ?? []);
    if (unit === "number" && places.every(Number.isInteger)) {
      const [low, high] = [Math.min(...places), Math.max(...places)];
      const whole = even(low, high, 1);
      return { label, ticks: whole, tickFormat: FORMATS[unit], grid, labelArrow: "none" };
    }
    return { label, tickFormat: FORMATS[unit], ticks, grid, labelArrow: "none" };
  }

  function axisY(spec) {
    const { unit, scale } = spec.y;
    const label = spec.y.title || null;
    if (scale === "names") {
      const [first] = spec.marks;
      return { label: null, domain: first.y };
    }
    if (scale !== "log") {
      const tickFormat = FORMATS[unit];
      const axis = { label, tickFormat, grid: true, labelArrow: "none", ticks: 5 };
      // A line of zeros is at the bottom.
      const [least, most] = ends(spec, (mark) => mark.y ?? mark.high ?? []);
      return least === 0 && most === 0 ? { ...axis, domain: [0, 1] } : { ...axis, nice: true, zero: true };
    }
    const values = (mark) => mark.kind === "band" ? [...mark.low, ...mark.high] : mark.y ?? [];
    const [least, most] = ends(spec, values);
    // Values that are close together get room above and below.
    const room = most < least * 1.1 ? 1.1 : 1;
    const [low, high] = [least / room, most * room];
    const decades = [];
    for (let power = Math.floor(Math.log10(low)); 10 ** power <= high; power += 1) {
      decades.push(10 ** power);
    }
    const fine = decades.flatMap((decade) => [1, 2, 5].map((digit) => digit * decade));
    const inside = (ticks) => ticks.filter((value) => value >= low && value <= high);
    const few = inside(fine).length < 3;
    const ticks = few ? even(low, high) : inside(fine).length > 9 ? inside(decades) : inside(fine);
    return logarithmic(label, FORMATS[unit], ticks, [low, high]);
  }

  function svgOf(spec, width) {
    const hasNames = spec.y.scale === "names";
    const rows = hasNames ? spec.marks[0].y.length : 0;
    return Plot.plot({
      width,
      height: hasNames ? 70 + 34 * rows : HEIGHT,
      marginLeft: hasNames ? 64 : 66,
      marginRight: 24,
      marginTop: 28,
      marginBottom: 42,
      x: axisX(spec, width),
      y: axisY(spec),
      color: { type: "identity" },
      opacity: { type: "identity" },
      symbol: { type: "identity" },
      ariaLabel: spec.title,
      ariaDescription: spec.about,
      style: { background: "none", color: "inherit", fontSize: "12px", overflow: "visible" },
      marks: [...spec.marks.map(drawn), ...bars(spec), ...tip(spec)],
    });
  }

  function legend(spec) {
    const shown = spec.marks.filter((mark) => mark.kind !== "heat" && mark.name !== "");
    const list = element("ul", { class: "legend" });
    for (const mark of shown) {
      const fill = { events: "var(--bad)", span: shade(mark) }[mark.kind] ?? colour(mark.role);
      const dashed = mark.kind === "line" && dashes(mark.role) ? " dashed" : "";
      const key = element("span", { class: `key ${mark.kind}${dashed}` });
      key.style.setProperty("--key", fill);
      list.append(element("li", {}, key, mark.name));
    }
    return list;
  }

  // ---- Data ---------------------------------------------------------------------------------

  // Columns and rows of a plot's data.
  function data(spec) {
    const unit = (axis) => COLUMN_UNITS[axis.unit] ?? "";
    const grid = spec.marks.find((mark) => mark.kind === "heat");
    if (grid) {
      const titles = ["from (s)", "to (s)", "at least (ns)", "below (ns)", grid.name];
      const rows = grid.cells.map(([column, row, count]) =>
        [grid.x[column], grid.x[column + 1], grid.y[row], grid.y[row + 1], count]);
      return { titles, rows };
    }
    if (spec.y.scale === "names") {
      const titles = ["", ...spec.marks.map((mark) => mark.name + unit(spec.x))];
      const rows = spec.marks[0].y.map((name, i) => [name, ...spec.marks.map((mark) => mark.x[i])]);
      return { titles, rows };
    }
    const columns = [];
    for (const mark of spec.marks) {
      const column = (name, values) =>
        columns.push({ name: name + unit(spec.y), at: new Map(mark.x.map((x, i) => [x, values[i]])) });
      if (mark.kind === "line" || mark.kind === "dots") column(mark.name, mark.y);
      if (mark.labels) columns.push({ name: "run", at: new Map(mark.x.map((x, i) => [x, mark.labels[i]])) });
      if (mark.kind === "events") column(mark.name, mark.count);
      if (mark.kind === "band" || mark.kind === "ranges") {
        // A band without a name belongs to the line of its colour.
        const line = lines(spec).find((other) => colour(other.role) === colour(mark.role));
        const name = mark.name || line?.name;
        column(`${name}, low`, mark.low);
        column(`${name}, high`, mark.high);
      }
    }
    const xs = [...new Set(columns.flatMap(({ at }) => [...at.keys()]))].sort((a, b) => a - b);
    const first = spec.x.unit === "nines" ? "percentile" : spec.x.title + unit(spec.x);
    const shown = (x) => {
      if (spec.x.unit === "date") return new Date(1e3 * x).toISOString();
      return spec.x.unit === "nines" ? +(100 - 100 / x).toPrecision(9) : x;
    };
    const rows = xs.map((x) => [shown(x), ...columns.map(({ at }) => at.get(x) ?? "")]);
    return { titles: [first, ...columns.map(({ name }) => name)], rows };
  }

  // A cell of a CSV file (RFC 4180). Spreadsheets take text that begins like a formula for one.
  function csvCell(value) {
    if (typeof value === "number") return String(value);
    const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
    return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  }

  function csv(spec) {
    const { titles, rows } = data(spec);
    return [titles, ...rows].map((row) => row.map(csvCell).join(",") + "\r\n").join("");
  }

  function table(spec) {
    const { titles, rows } = data(spec);
    const head = element("tr", {}, ...titles.map((title) => element("th", { scope: "col" }, title)));
    const body = rows.slice(0, ROWS_MAX).map((row) =>
      element("tr", {}, ...row.map((value) => element("td", {}, String(value)))));
    const whole = element("table", { class: "numbers" },
      element("thead", {}, head), element("tbody", {}, ...body));
    const label = `data of ${spec.title}`;
    const scroll = element("div", { class: "scroll tall", tabindex: 0, role: "region", "aria-label": label }, whole);
    const rest = rows.length - ROWS_MAX;
    return rest > 0 ? [scroll, element("p", {}, `${rest} more rows are in the CSV file.`)] : [scroll];
  }

  // The plot as a file of its own: with its title, its legend, and colours instead of variables.
  function svgFile(spec, svg) {
    const HEAD = 48;
    const style = getComputedStyle(document.body);
    const copy = svg.cloneNode(true);
    const [width, height] = ["width", "height"].map((name) => +svg.getAttribute(name));
    const text = (x, y, content, fill, weight) => {
      const node = document.createElementNS("http://www.w3.org/2000/svg", "text");
      Object.entries({ x, y, fill, "font-weight": weight }).forEach(([k, v]) => node.setAttribute(k, v));
      node.textContent = content;
      return node;
    };
    const background = document.createElementNS("http://www.w3.org/2000/svg", "rect");
    const box = { x: 0, y: -HEAD, width, height: height + HEAD, fill: "var(--page)" };
    Object.entries(box).forEach(([name, value]) => background.setAttribute(name, value));
    copy.prepend(background);
    copy.append(text(8, -HEAD + 18, spec.title, "var(--text)", "bold"));
    let x = 8;
    const unnamed = (mark) => mark.kind === "heat" || mark.kind === "span" || mark.name === "";
    for (const mark of spec.marks.filter((mark) => !unnamed(mark))) {
      const fill = mark.kind === "events" ? "var(--bad)" : colour(mark.role);
      copy.append(text(x, -HEAD + 38, `■ ${mark.name}`, fill, "normal"));
      x += 8 * mark.name.length + 32;
    }
    copy.setAttribute("viewBox", `0 ${-HEAD} ${width} ${height + HEAD}`);
    copy.setAttribute("height", height + HEAD);
    copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
    copy.setAttribute("font-family", "system-ui, sans-serif");
    copy.style.color = style.color;
    const xml = new XMLSerializer().serializeToString(copy);
    return xml.replace(/var\((--[\w-]+)\)/g, (_, name) => style.getPropertyValue(name).trim());
  }

  // ---- The page -----------------------------------------------------------------------------

  function element(name, attributes, ...children) {
    const node = document.createElement(name);
    Object.entries(attributes).forEach(([key, value]) => node.setAttribute(key, value));
    node.append(...children);
    return node;
  }

  function download(name, type, content) {
    const url = URL.createObjectURL(new Blob([content], { type }));
    const link = element("a", { href: url, download: name });
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(url), 1000);
  }

  function button(label, about, act) {
    const node = element("button", { type: "button", "aria-label": about }, label);
    node.addEventListener("click", act);
    return node;
  }

  function show(figure) {
    const spec = JSON.parse(figure.querySelector("script").textContent);
    const chart = element("div", { class: "chart" });
    let svg = null;
    const draw = (width) => {
      svg = svgOf(spec, width);
      // One image for screen readers: the labels of its groups mean nothing to them.
      svg.setAttribute("role", "img");
      svg.querySelectorAll("[aria-label]").forEach((part) => part.removeAttribute("aria-label"));
      chart.replaceChildren(svg);
    };
    const summary = element("summary", {}, "Data");
    const details = element("details", {}, summary);
    details.addEventListener("toggle", () => {
      if (details.open && details.children.length === 1) details.append(...table(spec));
    });
    const save = (kind, type, content) => button(kind, `Download ${spec.title} as ${kind}`, () =>
      download(`${spec.name}.${kind.toLowerCase()}`, type, content()));
    const controls = element("div", { class: "controls" },
      save("SVG", "image/svg+xml", () => svgFile(spec, svg)),
      save("CSV", "text/csv", () => csv(spec)));
    figure.append(legend(spec), chart, controls, details);
    draw(Math.max(figure.clientWidth, 280));
    let width = figure.clientWidth;
    new ResizeObserver(() => {
      if (Math.abs(figure.clientWidth - width) < 8) return;
      width = figure.clientWidth;
      draw(Math.max(width, 280));
    }).observe(figure);
  }

  document.querySelectorAll("figure.plot").forEach(show);
})();
