-- What pandoc makes of a notebook, put right for a report: raw TeX as formulas, outputs, captions, title, links.
-- Used with --from=ipynb+raw_tex --ipynb-output=all.
local typ = FORMAT:match('typst') ~= nil

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
  local block = formula(r.text) or error('cannot render raw TeX: ' .. r.text)
  return r.t == 'RawInline' and block.content or block
end

local function wrap(call, blocks)
  local out = pandoc.Blocks{pandoc.RawBlock('typst', '#' .. call .. '[')}
  out:extend(blocks)
  out:insert(pandoc.RawBlock('typst', ']'))
  return out
end

-- What a cell says in Markdown may hold data. So it has no HTML, no attributes and no pictures, links lead to pages or
-- within the report, and a claim that does not hold is marked.
local function said(s)
  local doc = pandoc.read(s, 'commonmark+pipe_tables+tex_math_dollars+smart')
  return doc.blocks:walk{
    RawInline = function(r) return pandoc.Str(r.text) end,
    RawBlock = function(r) return pandoc.Para{pandoc.Str(r.text)} end,
    Image = function(i) return i.caption end,
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
  if b.t == 'RawBlock' then return b.format == 'html' and (b.text:match('<svg') or b.text:match('<img')) end
  return b.t == 'Para' and #b.content == 1 and b.content[1].t == 'Image'
end

local function output(div)
  local c = div.classes
  if c:includes('stream') or c:includes('error') then
    if not typ then return div end
    local bad = c:includes('stderr') or c:includes('error')
    return wrap('stream(' .. (bad and 'rgb("#fdecea")' or 'luma(250)') .. ')', div.content)
  end
  local blocks = pandoc.Blocks{}
  for _, b in ipairs(div.content) do
    if b.t == 'RawBlock' and b.format == 'markdown' then
      blocks:extend(said(b.text))
    elseif b.t == 'RawBlock' and b.format == 'html' and typ then
      blocks:extend(html(b.text))
    else
      blocks:insert(b)
    end
  end
  div.content = blocks
  if #blocks == 1 and is_picture(blocks[1]) then
    if typ then return wrap('picture', blocks) end
    c:insert('picture')
    return div
  end
  return typ and wrap('output', blocks) or div
end

-- A paragraph that begins with **Figure.** is a caption: it is numbered.
local figures = 0
local function caption(p)
  local first = p.t == 'Para' and p.content[1]
  if not (first and first.t == 'Strong' and pandoc.utils.stringify(first) == 'Figure.') then return nil end
  figures = figures + 1
  p.content[1] = pandoc.Strong('Figure ' .. figures .. '.')
  return typ and pandoc.Div(wrap('caption', {p})) or pandoc.Div({p}, {class = 'caption'})
end

-- The place after the last picture of a code cell, if it shows one.
local function below_picture(cell)
  for i = #cell.content, 1, -1 do
    local d = cell.content[i]
    if d.t == 'Div' and #d.content == 1 and is_picture(d.content[1]) then return i + 1 end
  end
end

-- In HTML code can be folded away.
local function foldable(cell)
  if typ or not cell.classes:includes('code') then return cell end
  local blocks = pandoc.Blocks{}
  for _, b in ipairs(cell.content) do
    if b.t == 'CodeBlock' then
      blocks:insert(pandoc.RawBlock('html', '<details class="code" open><summary>Code</summary>'))
      blocks:insert(b)
      blocks:insert(pandoc.RawBlock('html', '</details>'))
    else
      blocks:insert(b)
    end
  end
  cell.content = blocks
  return cell
end

function Pandoc(doc)
  local blocks = pandoc.Blocks{}
  local before -- the code cell above
  for _, cell in ipairs(doc.blocks) do
    if cell.classes:includes('markdown') then
      for i, b in ipairs(cell.content) do -- flat, so that the contents nest across cells
        local c = caption(b)
        local place = c and i == 1 and before and below_picture(before)
        if place then before.content:insert(place, c) else blocks:insert(c or b) end
      end
      before = nil
    else
      before = foldable(cell)
      blocks:insert(before)
    end
  end
  blocks = blocks:walk{Div = function(d) if d.classes:includes('output') then return output(d) end end}
  blocks = blocks:walk{RawBlock = rawtex, RawInline = rawtex, Image = function(i)
    local inside = i.src:match('^data:') or pandoc.mediabag.lookup(i.src)
    return not inside and error('the picture ' .. i.src .. ' does not come from the notebook: let a cell show it') or nil
  end}

  -- Jupyter names a heading #1.-Model where pandoc has 1-model.
  local ids = {}
  blocks:walk{Header = function(h) ids[(pandoc.utils.stringify(h.content):gsub(' ', '-'))] = h.identifier end}
  blocks = blocks:walk{Link = function(l)
    local id = ids[l.target:match('^#(.+)')]
    if id then
      l.target = '#' .. id
      return l
    end
  end}

  if typ then -- the names of the authors, as strings of the language
    local given = doc.meta.author
    local names = pandoc.utils.type(given) == 'List' and given or pandoc.List{given}
    doc.meta['author-string'] = names:map(function(n)
      return pandoc.MetaInlines{pandoc.RawInline('typst', '"' .. pandoc.utils.stringify(n):gsub('[\\"]', '\\%0') .. '"')}
    end)
  end

  -- The first heading is the title, an emphasised paragraph below it the subtitle.
  if blocks[1] and blocks[1].t == 'Header' and blocks[1].level == 1 then
    local title = blocks:remove(1).content
    doc.meta.title = pandoc.MetaInlines(title)
    doc.meta.pagetitle = pandoc.utils.stringify(title:walk{Math = function(m) -- a window's title is plain text
      return pandoc.Str((m.text:gsub('\\math%a+%s*', ''):gsub('[{}\\]', '')))
    end})
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
  if typ and blocks[#blocks].t == 'Table' then -- the provenance stays together
    blocks:insert(#blocks - 1, pandoc.RawBlock('typst', '#block(breakable: false)['))
    blocks:insert(pandoc.RawBlock('typst', ']'))
  end
  doc.blocks = blocks
  return doc
end
