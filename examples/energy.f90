! The start of a molecular program: tables of parameters, then the energy of a small molecule.
!
! initprm clears tables for 1,000 types of atoms, of which a molecule has a few: eight matrices of
! 8,000,000 bytes, which nobody else touches. Each page of them is given to the process by the kernel
! at its first touch, so the program takes its time there, and most of it in the kernel.
! docs/slow.md finds that place.
!
!     energy [all|used [ATOMS]]
!
! With "used" only the part of the tables that is used is cleared. There are 400 atoms, or ATOMS.
module params
  implicit none
  integer, parameter :: maxtyp = 1000
  integer :: types = 5
  double precision :: radmin(maxtyp, maxtyp), epsilon(maxtyp, maxtyp)
  double precision :: radmin4(maxtyp, maxtyp), epsilon4(maxtyp, maxtyp)
  double precision :: radhbnd(maxtyp, maxtyp), epshbnd(maxtyp, maxtyp)
  double precision :: kred(maxtyp, maxtyp), ired(maxtyp, maxtyp)
end module params

subroutine initprm(n)
  use params
  implicit none
  integer, intent(in) :: n
  integer :: i, j
  do j = 1, n
    do i = 1, n
      radmin(i, j) = 0.0d0
      epsilon(i, j) = 0.0d0
      radmin4(i, j) = 0.0d0
      epsilon4(i, j) = 0.0d0
      radhbnd(i, j) = 0.0d0
      epshbnd(i, j) = 0.0d0
      kred(i, j) = 0.0d0
      ired(i, j) = 0.0d0
    end do
  end do
end subroutine initprm

subroutine kvdw
  use params
  implicit none
  integer :: i, j
  do j = 1, types
    do i = 1, types
      radmin(i, j) = 1.5d0 + 0.1d0 * i + 0.1d0 * j
      epsilon(i, j) = 0.05d0 * i * j
    end do
  end do
end subroutine kvdw

double precision function energy(atoms)
  use params
  implicit none
  integer, intent(in) :: atoms
  integer :: i, j, a, b
  double precision :: r, s
  energy = 0
  do i = 1, atoms
    a = mod(i, types) + 1
    do j = i + 1, atoms
      b = mod(j, types) + 1
      r = radmin(a, b) / (1.0d0 + 0.25d0 * (j - i))
      s = r**6
      energy = energy + epsilon(a, b) * (s * s - 2.0d0 * s)
    end do
  end do
end function energy

program analyze
  use params
  implicit none
  double precision, external :: energy
  character(len=16) :: word
  integer :: n, atoms
  n = maxtyp
  atoms = 400
  call get_command_argument(1, word)
  if (word == 'used') n = types
  call get_command_argument(2, word)
  if (word /= '') read (word, *) atoms
  call initprm(n)
  call kvdw
  write (*, '(a, f14.4)') 'energy', energy(atoms)
end program analyze
