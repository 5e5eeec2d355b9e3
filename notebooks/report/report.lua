-- What pandoc makes of a notebook, put right for a report: raw TeX as formulas, outputs, captions, title, links.
-- Used with --from=ipynb+raw_tex --ipynb-output=all. What report.py says of the report stands in the notebook's metadata.
local typ = FORMAT:match('typst') ~= nil
local stringify = pandoc.utils.stringify

local function display(tex) return pandoc.Para{pandoc.Math('DisplayMath', tex)} end

local inner = {align='aligned', gather='gathered', multline='gathered', eqnarray='aligned', alignat='aligned'}
local function formula(s)
  s = s:gsub('^%s+', ''):gsub('%s+$', '')
  local tex = s:match('^%$%$(.*)%$%$$') or s:match('^%$(.*)%$$') or s:match('^\\%[(.*)\\%]$')
  if tex then return display(tex) end
  local env, star, body = s:match('^\\begin{(%a+)(%*?)}(.*)\\end{%a+%*?}$')
  if env == 'equation' then return display(body) end
  if inner[env] then
    env = inner[env]
    return display('\\begin{' .. env .. '}' .. body .. '\\end{' .. env .. '}')
  end
end

-- A bare \begin{align}; anything else in raw TeX is an error.
local function rawtex(r)
  if r.format ~= 'tex' and r.format ~= 'latex' then return nil end
  local block = formula(r.text) or error('TeX outside of a formula, which stands between dollars: ' .. r.text)
  return r.t == 'RawInline' and block.content or block
end

-- Inlines as plain text: without the commands of TeX.
local function plain(inlines)
  return (stringify(pandoc.Inlines(inlines):walk{Math = function(m)
    return pandoc.Str((m.text:gsub('\\math%a+%s*', ''):gsub('[{}\\]', '')))
  end}))
end

local function quoted(s) -- a string of typst
  return '"' .. s:gsub('[\\"]', '\\%0'):gsub('\n', '\\n') .. '"'
end

local function wrap(call, blocks)
  local out = pandoc.Blocks{pandoc.RawBlock('typst', '#' .. call .. '[')}
  out:extend(blocks)
  out:insert(pandoc.RawBlock('typst', ']'))
  return out
end

-- A number as one writes it: 5e-07 is 5·10⁻⁷, which no line breaks in two.
local function number(s)
  local before, digits, after = s.text:match('^(%(?)(%-?[%d.]+)(.*)$')
  if not digits then return nil end
  digits = digits:gsub('^%-', '−')
  local sign, power, rest = after:match('^e([-+])0*(%d+)([%]),.;:]*)$')
  if not sign then return pandoc.Str(before .. digits .. after) end
  return {pandoc.Str(before .. (digits == '1' and '10' or digits .. '·10')), pandoc.Superscript((sign == '-' and '−' or '') .. power), pandoc.Str(rest)}
end

-- A table as comma-separated values, with the numbers as they were printed.
local function csv(t)
  local lines = {}
  local function row(r)
    lines[#lines + 1] = table.concat(r.cells:map(function(c)
      local value = stringify(c.contents)
      return value:match('[",\n]') and '"' .. value:gsub('"', '""') .. '"' or value
    end), ',')
  end
  for _, r in ipairs(t.head.rows) do row(r) end
  for _, body in ipairs(t.bodies) do
    for _, r in ipairs(body.body) do row(r) end
  end
  return table.concat(lines, '\n') .. '\n'
end

-- A table whose columns of numbers stand to the right, unless it says how they stand.
local function aligned(t)
  local specs = t.colspecs
  for k, spec in ipairs(specs) do
    local numbers = #t.bodies > 0 and #t.bodies[1].body > 0
    for _, body in ipairs(t.bodies) do
      for _, r in ipairs(body.body) do
        local value = stringify(r.cells[k].contents)
        numbers = numbers and (value == '–' or value == '∞' or value:match('^[-−]?%d[%d.,]*[e%d+-]*%s*%%?$'))
      end
    end
    specs[k] = {numbers and spec[1] == 'AlignDefault' and 'AlignRight' or spec[1]} -- without the share that pandoc takes from the source
  end
  t.colspecs = specs
  return t
end

-- What a cell says in Markdown may hold data. So it has no HTML, no attributes and no pictures, links lead to pages or
-- within the report, and a claim that does not hold is marked.
-- sheet is the table of the cell as comma-separated values, if the cell gave it.
local tables, headings = 0, 0
local function said(s, sheet)
  local doc = pandoc.read(s .. '\n', 'commonmark+pipe_tables+tex_math_dollars+smart')
  local links = {} -- to the tables as CSV, made before numbers are written as one writes them
  local blocks = doc.blocks:walk{Table = function(t)
    tables = tables + 1
    local name = 'table-' .. tables .. '.csv'
    links[#links + 1] = pandoc.RawBlock('html', '<p class="save">Save: <a download="' .. name .. '" href="'
      .. pandoc.mediabag.make_data_uri('text/csv', sheet or csv(t)) .. '">CSV</a></p>')
    return aligned(t)
  end}
  local linked = 0
  return blocks:walk{
    Table = function(t)
      linked = linked + 1
      return not typ and {t, links[linked]} or nil
    end,
    RawInline = function(r) return pandoc.Str(r.text) end,
    RawBlock = function(r) return pandoc.Para{pandoc.Str(r.text)} end,
    Image = function(i) return i.caption end,
    Header = function(h)
      headings = headings + 1
      h.identifier = 'said-' .. headings
      return h
    end,
    Str = number,
    Inlines = function(list) -- an error stays with its number
      for i = 2, #list - 1 do
        if list[i].t == 'Str' and list[i].text == '±' then list[i - 1], list[i + 1] = pandoc.Str('\u{a0}'), pandoc.Str('\u{a0}') end
      end
      return list
    end,
    Link = function(l) return not (l.target:match('^https?://') or l.target:match('^#')) and l.content or nil end,
    Para = function(p)
      local first = p.content[1]
      if not (first and first.t == 'Str' and first.text == '✗') then return nil end
      return typ and wrap('wrong', {p}) or {pandoc.RawBlock('html', '<p class="false">'), pandoc.Plain(p.content), pandoc.RawBlock('html', '</p>')}
    end,
  }
end

-- Blocks for an HTML output on paper: the drawing inside it, or its text and tables.
local drawings = 0
local function html(s)
  s = s:gsub('<script.->.-</script>', '')
  local svg = s:match('<svg.*</svg>')
  if not svg then return pandoc.read(s, 'html').blocks end
  if not svg:match('xmlns=') then svg = svg:gsub('^<svg', '<svg xmlns="http://www.w3.org/2000/svg"', 1) end
  drawings = drawings + 1
  local name = 'drawing-' .. drawings .. '.svg'
  pandoc.mediabag.insert(name, 'image/svg+xml', svg)
  return pandoc.Blocks{pandoc.Para{pandoc.Image({}, name)}}
end

local function is_picture(b)
  if b.t == 'RawBlock' then return b.format == 'html' and (b.text:match('<svg') or b.text:match('<img') or b.text:match('^<div class="panels')) end
  return b.t == 'Para' and #b.content == 1 and b.content[1].t == 'Image'
end

-- A picture with what is said of it: in words, and its caption if it has one.
local function pictured(div, blocks, about)
  div.content = blocks:walk{Image = function(i)
    local _, data = pandoc.mediabag.lookup(i.src)
    if data and not data:match('prefers%-color%-scheme') then i.classes:insert(about.paper and 'on-paper' or 'on-white') end
    i.caption = {pandoc.Str(about.alt)}
    i.attributes.width = about.width
    if about.least then i.attributes.style = '--least: ' .. about.least end
    return i
  end}
  if typ then
    local out = wrap('picture', div.content)
    out:extend(about.caption or {})
    return wrap('floating', out)
  end
  div.classes:insert('picture')
  div.attributes.role, div.attributes['aria-label'] = 'group', about.name
  local out = pandoc.Blocks{div}
  out:extend(about.caption or {})
  if about.files then out:insert(pandoc.RawBlock('html', about.files)) end
  return out
end

local function output(div, about, sheet)
  local c = div.classes
  if c:includes('stream') or c:includes('error') then
    if not typ then return {div} end
    local bad = c:includes('stderr') or c:includes('error')
    return div.content:walk{CodeBlock = function(b)
      return pandoc.RawBlock('typst', '#printed(' .. (bad and 'rgb("#fdecea")' or 'luma(250)') .. ', ' .. quoted(b.text) .. ')')
    end}
  end
  local blocks = pandoc.Blocks{}
  for _, b in ipairs(div.content) do
    if b.t == 'RawBlock' and b.format == 'markdown' then
      blocks:extend(said(b.text, sheet))
    elseif b.t == 'RawBlock' and b.format == 'html' and typ then
      blocks:extend(html(b.text))
    else
      blocks:insert(b)
    end
  end
  if about then return pictured(div, blocks, about) end
  if blocks:find_if(function(b) return b.t == 'Header' end) then return blocks end -- flat, for the contents
  div.content = blocks
  return typ and wrap('output', blocks) or {div}
end

-- An HTML tag of a picture as the picture that it shows.
local function tag(r)
  local inside = r.format == 'html' and r.text:match('^%s*<img(%s[^<>]*)>%s*$')
  if not inside then return nil end
  local attributes = {}
  for name, _, value in inside:gmatch('([%w-]+)%s*=%s*(["\'])(.-)%2') do attributes[name:lower()] = value end
  local image = pandoc.Image(attributes.alt or '', attributes.src or '', '', {width = attributes.width, height = attributes.height})
  return r.t == 'RawBlock' and pandoc.Para{image} or image
end

-- The blocks of a cell of prose with the pictures that are attached to it: data by their names.
local function attached(cell, pictures)
  return cell.content:walk{RawBlock = tag, RawInline = tag}:walk{Image = function(i)
    local name = i.src:gsub('^attachment:', ''):gsub('%%(%x%x)', function(x) return string.char(tonumber(x, 16)) end)
    if name:sub(1, #cell.identifier + 1) == cell.identifier .. '-' then name = name:sub(#cell.identifier + 2) end -- pandoc's name of an attachment
    if not pictures[name] then return nil end
    local mime, data = pandoc.mediabag.fetch(stringify(pictures[name]))
    i.src = pandoc.utils.sha1(data) .. '.' .. mime:match('%w+$'):gsub('xml', 'svg')
    pandoc.mediabag.insert(i.src, mime, data)
    return i
  end}
end

-- A paragraph that begins with **Figure.** is a caption: it is numbered.
local figures = 0
local function is_caption(p)
  local first = p and p.t == 'Para' and p.content[1]
  return first and first.t == 'Strong' and stringify(first) == 'Figure.'
end
local function captioned(p)
  if not is_caption(p) then return nil end
  figures = figures + 1
  local rest = p.content:clone()
  rest:remove(1)
  p.content[1] = pandoc.Strong('Figure ' .. figures .. '.')
  return {name = 'Figure ' .. figures, alt = 'Figure ' .. figures .. '.' .. plain(rest),
          caption = typ and wrap('caption', {p}) or pandoc.Blocks{pandoc.Div({p}, {id = 'figure-' .. figures, class = 'caption'})}}
end

-- A code cell with the tag "solution" folds away with its outputs. Any other one:
-- the error that ended it; its code, which folds away, on paper into an appendix, unless it is a listing: has the tag or,
-- in a notebook without such tags, at most 30 lines; and its outputs. A picture has the caption that the cell says behind it, the last
-- one that of the paragraph below the cell. Where the cell says a heading, its outputs are the report's, as prose is.
-- Of an output report.py says: its alt, words for a picture, for which otherwise the caption or the heading has to do; its width on a page,
-- and how narrow it may be at least; whether it stays on white paper; its files in the folder of the report; and of a table its sheet.
local appendix = pandoc.Blocks{}
local folded = 0
local own -- whether the report is about the reader's own data: its paper has no code

-- Whether a block of a cell is a check that has passed. Several in a row fold away behind their number.
local function passed(b)
  return b and b.t == 'Div' and #b.content == 1 and b.content[1].t == 'RawBlock' and b.content[1].text:match('^✓ ')
end

local function code(cell, below, heading, tagged, outputs, folder)
  local function shows(b) return b.t == 'Div' and #b.content == 1 and is_picture(b.content[1]) end
  local function caption(b) -- that b is, as a paragraph
    local raw = b and b.t == 'Div' and #b.content == 1 and b.content[1]
    if not (raw and raw.t == 'RawBlock' and raw.format == 'markdown' and raw.text:match('^%*%*Figure%.%*%*')) then return nil end
    return said(raw.text)[1]
  end
  local last
  for i, b in ipairs(cell.content) do last = shows(b) and i or last end
  local solution = (cell.attributes.tags or ''):match('"solution"')
  local blocks, number = pandoc.Blocks{}, 0
  local failed = cell.content:find_if(function(b) return b.t == 'Div' and b.classes:includes('error') end)
  if failed then blocks:extend(output(failed)) end -- before the code
  local used, flat, checks = false, false, {} -- the caption of the last picture
  for i, b in ipairs(cell.content) do checks[i] = passed(b) and not solution end
  for i, b in ipairs(cell.content) do
    if b.t == 'CodeBlock' and b.text ~= '' then
      b.text = b.text:gsub('\t', '    ')
      local _, breaks = b.text:gsub('\n', '')
      local folds = failed or solution or tagged and not (cell.attributes.tags or ''):match('"listing"') or not tagged and breaks >= 30
      if not typ then
        blocks:extend{pandoc.RawBlock('html', '<details class="code"' .. (folds and '' or ' open') .. '><summary>' .. (solution and 'Solutions' or 'Code') .. '</summary>'), b}
        if not solution then blocks:insert(pandoc.RawBlock('html', '</details>')) end
      elseif own then -- the page has it
      elseif folds then
        folded = folded + 1
        blocks:insert(pandoc.RawBlock('typst', '#aside(' .. folded .. ')'))
        appendix:extend(wrap('folded(' .. folded .. ', ' .. quoted(heading) .. ')', {b}))
      else
        blocks:insert(b)
      end
    elseif b.t == 'Div' then
      number = number + 1
      local many = 0
      while checks[i] and not checks[i - 1] and checks[i + many] do many = many + 1 end
      if many > 1 then
        blocks:insert(typ and pandoc.Para{pandoc.Str('✓ ' .. many .. ' checks passed; the page lists them.')} or
          pandoc.RawBlock('html', '<details class="code checks"><summary>✓ ' .. many .. ' checks passed</summary>'))
      end
      local inside = checks[i] and (checks[i - 1] or checks[i + 1])
      local told = outputs[tostring(number)] or {}
      local about = {alt = stringify(told.alt or '')}
      if shows(b) then
        local words = captioned(caption(cell.content[i + 1]))
        if not words and i == last then words, used = captioned(below), true end
        local links = told.files and told.files:map(function(f)
          f = stringify(f)
          return '<a href="' .. folder .. '/figures/' .. f .. '">' .. f:match('%w+$'):upper() .. '</a>'
        end)
        about.files = links and '<p class="save">Save: ' .. table.concat(links, ' ') .. '</p>'
        about.width, about.least = told.width and stringify(told.width), told.least and stringify(told.least)
        about.paper = told.paper
        about.caption = words and words.caption
        about.name = words and words.name or 'Picture: ' .. heading
        if about.alt == '' then about.alt = words and words.alt or 'Picture: ' .. heading end
        blocks:extend(output(b, about))
      elseif b ~= failed and not (typ and inside) and not (caption(b) and shows(cell.content[i - 1])) then
        local out = output(b, nil, told.sheet and stringify(told.sheet))
        for _, o in ipairs(out) do
          if o.t == 'Header' then heading, flat = plain(o.content), true end
        end
        blocks:extend(out)
      end
      if inside and not typ and not checks[i + 1] then blocks:insert(pandoc.RawBlock('html', '</details>')) end
    end
  end
  if solution and not typ then blocks:insert(pandoc.RawBlock('html', '</details>')) end
  if is_caption(below) and not used then blocks:extend(captioned(below).caption) end
  if typ or flat then return blocks end -- a picture floats only if no block is around it
  cell.content = blocks
  cell.attributes = {}
  return {cell}
end

-- What prose folds away by <details>, with its <summary>: on paper a link leads to it in the appendix.
local function details(block)
  local summary, body = block.text:match('^<details>%s*<summary>(.-)</summary>(.*)</details>$')
  if not summary then return nil end
  local content = pandoc.read(body, 'markdown').blocks
  if not typ then
    local out = pandoc.Blocks{pandoc.RawBlock('html', '<details class="code"><summary>' .. summary .. '</summary>')}
    out:extend(content)
    out:insert(pandoc.RawBlock('html', '</details>'))
    return out
  end
  folded = folded + 1
  local title = plain(pandoc.read(summary, 'html').blocks[1].content)
  appendix:extend(wrap('folded(' .. folded .. ', ' .. quoted(title) .. ')', content))
  return {pandoc.RawBlock('typst', '#unfolded(' .. folded .. ', ' .. quoted(title) .. ')')}
end

-- On paper: what may float, and the headings of sections, numbered in their order. A table of at most twelve rows stays whole, and may float if
-- it has more than eight. A figure right below a heading stays with it, for no text in front of it can fill the page. Of one without text
-- between it and the next heading the template is told that it is the last of its section.
local function settled(blocks)
  local function raw(i, pattern) return blocks[i] and blocks[i].t == 'RawBlock' and blocks[i].text:match(pattern) end
  local headed = false
  for i, b in ipairs(blocks) do
    local rows = raw(i, '^#output%[') and raw(i + 1, '^#tabled%[') and blocks[i + 4].t == 'Table' and raw(i + 5, '^%]') and #blocks[i + 4].bodies[1].body or 100
    if raw(i, '^#floating') or rows <= 12 then
      blocks[i].text = (headed or rows <= 8) and '#block(width: 100%, breakable: false)[' or '#floating(0)['
    end
    headed = b.t == 'Header' or headed and (raw(i, '^#aside') or b.t == 'Para' and stringify(b) == '')
  end
  local last, depth = true, 0
  for i = #blocks, 1, -1 do
    if raw(i, '^%]') then depth = depth + 1 end
    if depth == 0 and not raw(i, '^#aside') then last = blocks[i].t == 'Header' end
    if raw(i, '%[$') then
      depth = depth - 1
      if depth == 0 then
        last = last and raw(i, '^#floating')
        if last then blocks[i].text = '#floating(0, last: true)[' end
      end
    end
  end
  local number, out = 0, pandoc.Blocks{}
  for i, b in ipairs(blocks) do
    local section = b.t == 'Header' and i > 1 -- not the title
    if raw(i, '^#floating') or section then number = number + 1 end
    if section then out:insert(pandoc.RawBlock('typst', '#barrier(' .. number .. ')')) end
    if raw(i, '^#floating') then b.text = b.text:gsub('0', number, 1) end
    out:insert(b)
  end
  return out
end

-- The other reports, by the numbers of their notebooks: "lesson 1.3" leads to 1-3_x.html, and so does a link to its file. A link to one of the
-- pages, which stand beside the reports, leads there.
local function references(blocks, book, pages, self)
  local by_number, by_file, is_page = {}, {}, {}
  for _, p in ipairs(pages) do is_page[stringify(p)] = true end
  for _, b in ipairs(book) do
    b = {name = stringify(b.name), title = stringify(b.title)}
    by_number[b.name:match('^%d%-%d+') or b.name], by_file[b.name .. '.ipynb'] = b, b
  end
  local function to(content, b) return typ and pandoc.Span(content) or pandoc.Link(content, b.name .. '.html', b.title) end
  return blocks:walk{
    traverse = 'topdown',
    Link = function(l)
      local b = by_file[l.target:match('[^/]*$')]
      if b then return to(l.content, b), false end
      local page, place = l.target:gsub('^%.%./', ''):match('^([^:]+)%.md(#?[^/]*)$')
      if not page then return nil, false end
      if typ or not is_page[page] then return l.content, false end
      l.target = page .. '.html' .. place
      return l, false
    end,
    Inlines = function(list)
      local listing = false
      for i, x in ipairs(list) do
        local number, rest = (x.t == 'Str' and x.text or ''):match('^(%d%.%d+)(%D*)$')
        local b = listing and number and not rest:match('^[%w.]*%w') and by_number[number:gsub('%.', '-')]
        if b and b.name ~= self then
          list[i] = to(pandoc.Inlines{pandoc.Str(number)}, b)
          if rest ~= '' then list[i] = pandoc.Span{list[i], pandoc.Str(rest)} end
        elseif x.t == 'Str' and not number and x.text ~= 'and' and x.text ~= 'to' then
          listing = x.text:match('^%(?[Ll]essons?$') ~= nil
        elseif x.t ~= 'Str' and x.t ~= 'Space' and x.t ~= 'SoftBreak' then
          listing = false
        end
      end
      return list
    end,
  }
end

-- What report.py says is text, whatever is written in it.
local function as_text(value)
  if type(value) == 'string' then return pandoc.Inlines{pandoc.Str(value)} end
  if type(value) == 'table' then
    local out = {}
    for k, v in pairs(value) do out[k] = as_text(v) end
    return #out > 0 and pandoc.List(out) or out
  end
  return value
end

function Pandoc(doc)
  local about = as_text(doc.meta.jupyter.anatomy)
  for key, value in pairs(about) do doc.meta[key] = value end

  own = about.data
  local cells = doc.blocks
  local tagged = about.template -- or whether the notebook says which code is worth reading at first
  for _, cell in ipairs(cells) do tagged = tagged or (cell.attributes.tags or ''):match('"listing"') end

  local blocks, heading = pandoc.Blocks{}, ''
  for n, cell in ipairs(cells) do
    if cell.classes:includes('markdown') then
      for _, b in ipairs(attached(cell, about.pictures[cell.identifier] or {})) do -- flat, so that the contents nest across cells
        if b.t == 'Header' then heading = plain(b.content) end
        local figure = captioned(b)
        blocks:extend(figure and figure.caption or b.t == 'RawBlock' and details(b) or {b})
      end
    else
      local below = cells[n + 1] and cells[n + 1].classes:includes('markdown') and cells[n + 1].content
      blocks:extend(code(cell, below and is_caption(below[1]) and below:remove(1), heading, tagged, about.outputs[cell.identifier] or {},
        stringify(about.folder or '')))
    end
  end
  blocks = blocks:walk{RawBlock = rawtex, RawInline = rawtex, Image = function(i)
    local inside = i.src:match('^data:') or pandoc.mediabag.lookup(i.src)
    return not inside and error('the picture ' .. i.src .. ' is neither attached to the notebook nor a picture file beside it: drag it into the cell, or let a cell show it') or nil
  end}
  blocks = references(blocks, about.book or {}, about.pages or {}, stringify(about.name or ''))
  appendix = references(appendix, about.book or {}, {}, '')

  -- Jupyter names a heading #1.-Model where pandoc has 1-model.
  local ids = {}
  blocks:walk{Header = function(h) ids[(stringify(h.content):gsub(' ', '-'))] = h.identifier end}
  blocks = blocks:walk{Link = function(l)
    local id = ids[l.target:match('^#(.+)')]
    if id then
      l.target = '#' .. id
      return l
    end
  end}

  if typ then
    -- What a table is called stays on its page.
    blocks = blocks:walk{Para = function(p)
      if #p.content > 0 and p.content[1].t == 'Strong' and stringify(p.content[1]) == 'Table.' then return wrap('tabled', {p}) end
    end}
    blocks = settled(blocks)
    -- By these marks report.py knows what is a formula.
    local marked = {Math = function(m) return {pandoc.RawInline('typst', '\u{E000}'), m, pandoc.RawInline('typst', '\u{E001}')} end}
    blocks, appendix = blocks:walk(marked), appendix:walk(marked)
    doc.meta['author-string'] = pandoc.List(about.author or {}):map(function(n) return pandoc.MetaInlines{pandoc.RawInline('typst', quoted(stringify(n)))} end)
  end

  -- The first heading is the title, an emphasised paragraph below it the subtitle.
  if blocks[1] and blocks[1].t == 'Header' and blocks[1].level == 1 then
    local title = blocks:remove(1).content
    doc.meta.title = pandoc.MetaInlines(title)
    doc.meta.pagetitle = plain(title) -- a window's title is plain text
    local p = blocks[1]
    if p and p.t == 'Para' and #p.content == 1 and p.content[1].t == 'Emph' then
      doc.meta.subtitle = pandoc.MetaInlines(p.content[1].content)
      blocks:remove(1)
    end
    if not typ then
      blocks = blocks:walk{Header = function(h) h.level = math.max(2, h.level); return h end}
    else
      blocks = blocks:walk{Header = function(h) h.level = math.max(1, h.level - 1); return h end}
    end
  end
  if #appendix > 0 then
    blocks:extend{pandoc.Header(1, 'Code'), pandoc.RawBlock('typst', '#set text(size: 8pt)\n#let Skylighting = small')}
    blocks:extend(appendix)
  end
  doc.blocks = blocks
  return doc
end
